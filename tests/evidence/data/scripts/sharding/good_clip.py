import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard


def main(net, other):
    model = FSDP(net)
    model.clip_grad_norm_(1.0)
    for block in other.layers:
        fully_shard(block)
    fully_shard(other)
    torch.nn.utils.clip_grad_norm_(other.parameters(), 1.0)
