import os

import torch
import torch.distributed as dist

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)


def modulo():
    rank = dist.get_rank()
    torch.cuda.set_device(rank % torch.cuda.device_count())


def spawned(rank, model):
    torch.cuda.set_device(rank)
    return model.to(rank)


def host():
    return torch.device("cpu"), torch.device("cuda", local_rank)
