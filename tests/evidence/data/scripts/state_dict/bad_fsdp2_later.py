"""What every rank has of its own shards goes through names and a helper to the file of one."""

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.fsdp import fully_shard


def on_host(model):
    return {name: value.cpu() for name, value in model.state_dict().items()}


def resumable(model, optimizer):
    return get_state_dict(model, optimizer)


def main(model, path):
    for block in model.layers:
        fully_shard(block)
    fully_shard(model)
    state = {"model": on_host(model), "round": 1}
    if dist.get_rank() == 0:
        torch.save(state, path)  # distkb: script.shards-saved-on-main
