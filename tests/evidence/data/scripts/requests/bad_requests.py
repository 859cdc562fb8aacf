"""Messages that are started and forgotten."""

import torch
import torch.distributed as dist


def push(tensor, peer):
    dist.isend(tensor, peer)  # distkb: script.request-let-go


def ring(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    got = torch.empty_like(x)
    request = dist.isend(x, (rank + 1) % world)  # distkb: script.request-let-go
    dist.irecv(got, (rank - 1) % world)  # distkb: script.request-let-go
    return got


class Stage:
    def __init__(self, peer):
        self.peer = peer

    def forward(self, x):
        ops = [dist.P2POp(dist.isend, x, self.peer)]
        dist.batch_isend_irecv(ops)  # distkb: script.request-let-go
        return x

    def take(self, buffer):
        if buffer is not None:
            work = dist.irecv(buffer, src=self.peer)  # distkb: script.request-let-go
        return buffer
