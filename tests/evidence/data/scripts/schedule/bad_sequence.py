"""A sequence of schedules with milestones."""

import torch
from accelerate import Accelerator
from lib import Net, loader
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR


def main():
    accelerator = Accelerator()
    net = Net()
    opt = torch.optim.AdamW(net.parameters(), 1e-3)
    warm = LinearLR(opt, start_factor=0.01, total_iters=500)
    sched = SequentialLR(opt, [warm, CosineAnnealingLR(opt, 9500)], milestones=[500])
    net, opt, dl, sched = accelerator.prepare(net, opt, loader(), sched)
    for x in dl:
        accelerator.backward(net(x).mean())
        opt.step()
        sched.step()  # distkb: script.fixed-schedule-prepared
        opt.zero_grad()


main()
