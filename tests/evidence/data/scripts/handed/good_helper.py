"""One rank calls the helper that saves."""

import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import Net, loader


def save_checkpoint(state, filename="checkpoint.pth.tar"):
    torch.save(state, filename)


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = DDP(Net().cuda())
    opt = torch.optim.SGD(model.parameters(), 0.1)
    for epoch in range(3):
        for x in loader(epoch):
            opt.zero_grad()
            model(x).backward()
            opt.step()
        if dist.get_rank() == 0:
            save_checkpoint({"epoch": epoch, "state_dict": model.state_dict(), "optimizer": opt.state_dict()})


main()
