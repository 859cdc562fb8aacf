import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard


def first(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)  # distkb: script.optimizer-before-sharding
    for block in model.layers:
        fully_shard(block)
    fully_shard(model)
    return optimizer


def second(model):
    optimizer = torch.optim.SGD(model.parameters())  # distkb: script.optimizer-before-sharding
    model = FSDP(model)
    return model, optimizer
