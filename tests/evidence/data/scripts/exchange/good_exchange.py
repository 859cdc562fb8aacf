"""Messages that meet, and gradients that are averaged, or added up where that is right."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def rotate(block):
    rank, world = dist.get_rank(), dist.get_world_size()
    received = torch.empty_like(block)
    if rank % 2 == 0:
        dist.send(block, (rank + 1) % world)
        dist.recv(received, (rank - 1) % world)
    else:
        dist.recv(received, (rank - 1) % world)
        dist.send(block, (rank + 1) % world)
    return received


def forward_pass(block, rank, world):
    if rank > 0:
        dist.recv(block, rank - 1)
    if rank < world - 1:
        dist.send(block, rank + 1)


def partial_norms(model, group):
    for parameter in model.norms():
        dist.all_reduce(parameter.grad, group=group)


def hook(state, bucket):
    half = bucket.buffer().to(torch.bfloat16).div_(dist.get_world_size())
    return dist.all_reduce(half, async_op=True).get_future().then(lambda future: future.value()[0])


def wrap(model):
    model = DistributedDataParallel(model)
    model.register_comm_hook(state=None, hook=hook)
    return model


def norm(model):
    total = sum(parameter.grad.pow(2).sum() for parameter in model.parameters())
    dist.all_reduce(total)
    return total
