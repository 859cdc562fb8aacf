"""Rank 0 alone measures some batches of a sharded model, two functions away."""

import torch.distributed as dist
from net import LM, loader
from torch.distributed.fsdp import fully_shard


def build():
    model = LM()
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    return model


def loss_of(model, batch):
    return model(batch).mean()


def measure(model, batches, most=50):
    total = 0.0
    for number, batch in enumerate(batches):
        if number >= most:
            break
        total += loss_of(model, batch).item()
    return total


def main():
    dist.init_process_group("nccl")
    model = build()
    for batch in loader():
        loss_of(model, batch).backward()
    if dist.get_rank() == 0:
        print(f"{measure(model, loader()):.3f}")  # distkb: script.forward-on-some-ranks


main()
