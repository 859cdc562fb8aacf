"""`.module` of a model that only a run of several processes wraps."""

import os

import torch
import torch.distributed as dist
from net import Net
from torch.nn.parallel import DistributedDataParallel as DDP

from data import make_loader


def save(model, path):
    torch.save(model.module.state_dict(), path)  # distkb: script.module-of-unwrapped


def main():
    model = Net()
    if torch.cuda.device_count() > 1 and "RANK" in os.environ:
        dist.init_process_group("nccl")
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        model = DDP(model.cuda())
    opt = torch.optim.Adam(model.parameters())
    for x, y in make_loader():
        opt.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        opt.step()
    if int(os.environ.get("RANK", 0)) == 0:
        save(model, "out.pt")


main()
