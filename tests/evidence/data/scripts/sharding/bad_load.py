import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard


def main(net, path):
    if dist.get_rank() == 0:
        net.load_state_dict(torch.load(path))  # distkb: script.loaded-by-one-before-sharding
    for block in net.layers:
        fully_shard(block)
    fully_shard(net)
