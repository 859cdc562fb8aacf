"""Every rank makes the tensors whole before one of them writes."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard


def whole(value):
    return value.full_tensor().cpu()


def on_host(model):
    return {name: whole(value) for name, value in model.state_dict().items()}


def main(model, path):
    for block in model.layers:
        fully_shard(block)
    fully_shard(model)
    state = {"model": on_host(model), "round": 1}
    if dist.get_rank() == 0:
        torch.save(state, path)
