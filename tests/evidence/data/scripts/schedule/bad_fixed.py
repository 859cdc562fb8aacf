"""Milestones, prepared in a helper."""

import torch
from accelerate import Accelerator
from stuff import make_loader, make_model
from torch.optim.lr_scheduler import MultiStepLR


def build(accelerator):
    model = make_model()
    opt = torch.optim.SGD(model.parameters(), 0.1)
    sched = MultiStepLR(opt, milestones=[30, 60, 80], gamma=0.1)
    return accelerator.prepare(model, opt, make_loader(), sched)


def main():
    accelerator = Accelerator()
    model, opt, loader, sched = build(accelerator)
    for epoch in range(90):
        for x, y in loader:
            opt.zero_grad()
            accelerator.backward(torch.nn.functional.cross_entropy(model(x), y))
            opt.step()
        sched.step()  # distkb: script.fixed-schedule-prepared


main()
