"""One side sends while the other one receives."""

import torch
import torch.distributed as dist


def swap(block):
    received = torch.empty_like(block)
    if dist.get_rank() == 0:
        dist.send(block, dst=1)
        dist.recv(received, src=1)
    else:
        dist.recv(received, src=0)
        dist.send(block, dst=0)
    return received


def pipeline(hidden, rank, world):
    if rank == 0:
        dist.send(hidden, dst=1)
    elif rank == world - 1:
        dist.recv(hidden, src=rank - 1)
    else:
        dist.recv(hidden, src=rank - 1)
        dist.send(hidden, dst=rank + 1)
    return hidden


def by_setting(hidden, echo, peer):
    if echo:
        dist.recv(hidden, src=peer)
        dist.send(hidden, dst=peer)
    else:
        dist.recv(hidden, src=peer)
        dist.send(torch.zeros_like(hidden), dst=peer)
