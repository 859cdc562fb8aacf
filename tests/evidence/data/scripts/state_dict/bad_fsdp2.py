import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard


def main(model):
    for block in model.layers:
        fully_shard(block)
    fully_shard(model)
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), "model.pt")  # distkb: script.shards-saved-on-main
