"""Messages that nobody receives, and gradients that nobody divides."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def rotate(block):
    rank, world = dist.get_rank(), dist.get_world_size()
    received = torch.empty_like(block)
    dist.send(block, (rank + 1) % world)  # distkb: script.all-send-first
    dist.recv(received, (rank - 1) % world)
    return received


def average_gradients(model):
    for parameter in model.parameters():
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad, op=dist.ReduceOp.SUM)  # distkb: script.gradients-summed


def compress(state, bucket):
    half = bucket.buffer().to(torch.bfloat16)
    work = dist.all_reduce(half, async_op=True)  # distkb: script.hook-sums-gradients

    def decompress(future):
        return future.value()[0].to(torch.float32)

    return work.get_future().then(decompress)


def wrap(model):
    model = DistributedDataParallel(model)
    model.register_comm_hook(None, compress)
    return model


def train(model, optimizer, loader):
    for batch in loader:
        model(batch).sum().backward()
        average_gradients(model)
        optimizer.step()
