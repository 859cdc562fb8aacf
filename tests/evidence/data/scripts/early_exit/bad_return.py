import torch
import torch.distributed as dist


def save(rank, state):
    if rank != 0:
        return
    torch.save(state, "last.pt")
    dist.barrier()  # distkb: script.collective-after-rank-left


def epoch(loader):
    for batch in loader:
        if dist.get_rank() != 0:
            continue
        total = batch.sum()
        dist.all_reduce(total)  # distkb: script.collective-after-rank-left
