"""A function without a name among the arguments."""

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from net import Net


def worker(rank, world, cfg, augment):
    dist.init_process_group(  # distkb: script.group-not-destroyed
        "nccl", init_method="tcp://127.0.0.1:29500", rank=rank, world_size=world
    )
    torch.cuda.set_device(rank)
    torch.nn.parallel.DistributedDataParallel(Net().cuda())


if __name__ == "__main__":
    world = torch.cuda.device_count()
    mp.spawn(  # distkb: script.spawn-of-local
        worker, args=(world, {"lr": 0.1}, lambda x: x.flip(-1)), nprocs=world, join=True
    )
