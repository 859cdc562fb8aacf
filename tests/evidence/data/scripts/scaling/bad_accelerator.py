"""torch clips what Accelerate has scaled."""

import torch
from accelerate import Accelerator
from stuff import Net, make_loader


def main():
    accelerator = Accelerator(mixed_precision="fp16")
    net = Net()
    opt = torch.optim.AdamW(net.parameters())
    net, opt, dl = accelerator.prepare(net, opt, make_loader())
    for x, y in dl:
        accelerator.backward(torch.nn.functional.mse_loss(net(x), y))
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # distkb: script.clipped-past-accelerator
        opt.step()
        opt.zero_grad()


main()
