"""The same with Accelerate's state."""

import torch
from accelerate import Accelerator
from stuff import Net, args, make_loader


class Job:
    def __init__(self):
        self.accelerator = Accelerator()
        net = Net()
        opt = torch.optim.AdamW(net.parameters(), args.lr)
        self.net, self.opt, self.dl = self.accelerator.prepare(net, opt, make_loader())
        self.global_step = 0
        if args.resume:
            self.accelerator.load_state(args.resume)
            self.global_step = int(args.resume.split("_")[-1])

    def run(self):
        for epoch in range(args.epochs):  # distkb: script.data-starts-over
            for x, y in self.dl:
                self.accelerator.backward(torch.nn.functional.mse_loss(self.net(x), y))
                self.opt.step()
                self.opt.zero_grad()
                self.global_step += 1
                if self.global_step % 500 == 0:
                    self.accelerator.save_state(f"out/step_{self.global_step}")


Job().run()
