"""All ranks decode equally long."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP


def decode(model, ids):
    done = torch.zeros(1)
    while done.item() == 0:
        token = model(ids)[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, token], 1)
        done = (token == 2).all().float().reshape(1)
        dist.all_reduce(done, op=dist.ReduceOp.MIN)
    return ids


def as_many(model, ids):
    for _ in range(64):
        token = model(ids)[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, token], 1)
    return ids


def whole(model, ids):
    for _ in range(64):
        token = model(ids)[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, token], 1)
        if (token == 2).all():
            break
    return ids


def main(model, plain, prompts):
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    replica = DDP(plain)
    for ids in prompts:
        decode(model, ids)
        as_many(model, ids)
        whole(replica, ids)
        model.generate(ids, synced_gpus=True)
