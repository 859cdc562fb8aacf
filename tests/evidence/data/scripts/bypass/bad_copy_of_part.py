"""A part of a sharded model is copied."""

import copy

from torch.distributed.fsdp import fully_shard


def build(model, mesh):
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return copy.deepcopy(model.encoder).eval()  # distkb: script.copy-of-sharded
