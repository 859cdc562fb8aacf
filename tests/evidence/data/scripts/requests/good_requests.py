"""Requests that somebody waits for, here or elsewhere, and blocking messages."""

import torch
import torch.distributed as dist


def push(tensor, peer):
    return dist.isend(tensor, peer)


def ring(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    got = torch.empty_like(x)
    request = dist.isend(x, (rank + 1) % world)
    dist.recv(got, (rank - 1) % world)
    request.wait()
    return got


def many(tensors, peer):
    requests = [dist.irecv(tensor, peer) for tensor in tensors]
    for request in requests:
        request.wait()


def batched(x, y, peer):
    ops = [dist.P2POp(dist.isend, x, peer), dist.P2POp(dist.irecv, y, peer)]
    for request in dist.batch_isend_irecv(ops):
        request.wait()


def at_once(x, peer):
    dist.isend(x, peer).wait()


class Stage:
    def start(self, x, peer):
        self.request = dist.isend(x, peer)

    def end(self):
        self.request.wait()


def reduced(x):
    dist.all_reduce(x, async_op=True).wait()


class Tests:
    def refused(self, x):
        with self.assertRaisesRegex(ValueError, "mixed"):
            dist.batch_isend_irecv([x])
