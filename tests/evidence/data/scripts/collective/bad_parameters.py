import torch.distributed as dist
from torch.distributed.fsdp import fully_shard


def sizes(model):
    found = {}
    for name, p in model.named_parameters():
        if p.ndim == 2:
            found[name] = p.detach().full_tensor().norm().item()
    return found


def spread(model):
    return {name: p.std().item() for name, p in model.named_parameters() if p.ndim == 2}


def local(model):
    return {name: p.to_local().std().item() for name, p in model.named_parameters()}


def main(model, loader):
    rank = dist.get_rank()
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    for batch in loader:
        model(batch).sum().backward()
        if rank == 0:
            print(local(model))
            print(sizes(model))  # distkb: script.collective-on-some-ranks


def main_with_spread(model, loader):
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    for batch in loader:
        model(batch).sum().backward()
    if dist.get_rank() == 0:
        print(spread(model))  # distkb: script.collective-on-some-ranks
