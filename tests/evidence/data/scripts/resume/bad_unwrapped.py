"""The weights of what is unwrapped."""

import os

import torch
from accelerate import Accelerator
from stuff import Net, args, make_loader


def main():
    accelerator = Accelerator(mixed_precision="bf16")
    net = Net()
    opt = torch.optim.AdamW(net.parameters(), args.lr)  # distkb: script.resume-without-optimizer
    net, opt, dl = accelerator.prepare(net, opt, make_loader())
    begin = 0
    if args.resume_from:
        data = torch.load(
            os.path.join(args.resume_from, "state.bin"), map_location="cpu"
        )
        accelerator.unwrap_model(net).load_state_dict(data["net"])
        begin = data["epoch"] + 1
    for epoch in range(begin, args.epochs):
        for x, y in dl:
            accelerator.backward(torch.nn.functional.mse_loss(net(x), y))
            opt.step()
            opt.zero_grad()
        if accelerator.is_main_process:
            torch.save(
                {"net": accelerator.unwrap_model(net).state_dict(), "epoch": epoch},
                os.path.join(args.out, "state.bin"),
            )


main()
