"""Both sides of an exchange begin with the same blocking call."""

import torch
import torch.distributed as dist


def swap(block):
    received = torch.empty_like(block)
    if dist.get_rank() == 0:
        dist.send(block, dst=1)  # distkb: script.all-send-first
        dist.recv(received, src=1)
    else:
        dist.send(block, dst=0)
        dist.recv(received, src=0)
    return received


class Halo:
    def __init__(self):
        self.rank = dist.get_rank()
        self.peer = self.rank ^ 1

    def exchange(self, edge):
        ghost = torch.empty_like(edge)
        if self.rank % 2 == 0:
            dist.recv(ghost, self.peer)  # distkb: script.both-receive-first
            dist.send(edge, self.peer)
        else:
            dist.recv(ghost, self.peer)
            dist.send(edge, self.peer)
        return ghost


def ask(question, answer, rank):
    if rank == 0:
        dist.recv(answer, src=1)  # distkb: script.both-receive-first
        dist.send(question, dst=1)
    else:
        dist.recv(question, src=0)
        dist.send(answer, dst=0)
