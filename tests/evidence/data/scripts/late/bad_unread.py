"""Checkpoints that nothing reads."""

import os

import torch
import torch.distributed as dist
from net import Net, loader
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel as DDP


@record
def main():
    dist.init_process_group("nccl")  # distkb: script.group-not-destroyed
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    net = DDP(Net().cuda())
    opt = torch.optim.Adam(net.parameters())
    for epoch in range(100):
        for x in loader():
            opt.zero_grad()
            net(x.cuda()).mean().backward()
            opt.step()
        if dist.get_rank() == 0:
            torch.save(  # distkb: script.saved-never-loaded
                {
                    "net": net.module.state_dict(),
                    "opt": opt.state_dict(),
                    "epoch": epoch,
                },
                "last.pt",
            )


if __name__ == "__main__":
    main()
