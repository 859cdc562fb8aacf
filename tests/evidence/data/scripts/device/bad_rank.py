import os

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)  # distkb: script.device-from-global-rank


def main(model):
    global_rank = dist.get_rank()
    device = torch.device(f"cuda:{global_rank}")  # distkb: script.device-from-global-rank
    return model.to(device)


def wrap(model):
    model.to(f"cuda:{dist.get_rank()}")  # distkb: script.device-from-global-rank
