import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def main(model, other):
    first = torch.optim.SGD(other.parameters())
    model = FSDP(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return first, optimizer


def conditional(net, args):
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    if args.shard:
        net = FSDP(net)
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    return optimizer
