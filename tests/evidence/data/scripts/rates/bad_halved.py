"""A rate that is halved by the rank's own loss."""

import torch
from accelerate import Accelerator
from stuff import Data, Model
from torch.utils.data import DataLoader


def set_lr(opt, lr):
    for group in opt.param_groups:
        group["lr"] = lr


def main():
    accelerator = Accelerator()
    model = Model()
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    model, opt, loader = accelerator.prepare(
        model, opt, DataLoader(Data(), 8, shuffle=True)
    )
    previous, lr = float("inf"), 1e-3
    for epoch in range(10):
        running = 0.0
        for batch in loader:
            loss = model(batch)
            accelerator.backward(loss)
            opt.step()
            opt.zero_grad()
            running += loss.item()
        if running > previous * 0.99:  # distkb: script.rate-by-own-measure
            lr *= 0.5
            set_lr(opt, lr)
        previous = running


main()
