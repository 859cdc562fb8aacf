"""The model is on a GPU before the GPU is chosen."""

import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import Net, loader


def init():
    dist.init_process_group("nccl")
    dist.barrier()


def main():
    init()
    model = Net().cuda()  # distkb: script.device-set-late
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    ddp = DDP(model.cuda(local_rank), device_ids=[local_rank])
    opt = torch.optim.SGD(ddp.parameters(), 0.1)
    for x in loader():
        opt.zero_grad()
        ddp(x.cuda()).backward()
        opt.step()


main()
