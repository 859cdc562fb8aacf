"""The call stands here, what decides who comes in another file."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

from bad_split_helpers import Roles


def log(value):
    dist.reduce(value, dst=0)  # distkb: script.group-left-out


def work(model, roles):
    for layer in model.layers:
        fully_shard(layer)  # distkb: script.group-left-out
    fully_shard(model)  # distkb: script.group-left-out
    for _ in range(10):
        log(model(torch.ones(2)).sum())


def main(model):
    roles = Roles(1)
    if roles.is_server():
        serve(model)
    else:
        work(model, roles)


def serve(model):
    dist.recv(torch.empty(2), src=0)
