"""Changes before the wrapping, and `.module` where there is one."""

import os

import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.nn.parallel import DistributedDataParallel as DDP


def head_first(net):
    net.fc = torch.nn.Linear(8, 3)
    return DDP(torch.nn.SyncBatchNorm.convert_sync_batchnorm(net))


def one_of_both(net, shard):
    if shard:
        return FSDP(net, use_orig_params=True)
    return DDP(net)


def frozen(net):
    for parameter in net.encoder.parameters():
        parameter.requires_grad = False
    return FSDP(net, use_orig_params=True)


def bare(model):
    return model.module if isinstance(model, DDP) else model


def made():
    return torch.nn.Sequential(torch.nn.Linear(8, 8))


def main(net):
    model = net
    if "RANK" in os.environ:
        model = DDP(net)
    torch.save(bare(model).state_dict(), "out.pt")
    return head_first(made()), one_of_both(made(), False), frozen(made())
