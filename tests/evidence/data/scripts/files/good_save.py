import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from utils import is_master


def main(net, args, rank):
    args.save_logs = is_master(args)
    model = DDP(net)
    os.makedirs("runs", exist_ok=True)
    torch.save(model.state_dict(), f"state_{rank}.pt")
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), "last.pt")
    if args.save_logs:
        torch.save(model.state_dict(), "logged.pt")


def write(state):
    torch.save(state, "any.pt")
