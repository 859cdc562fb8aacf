"""Parameters that are chosen from an FSDP1 model, which has only flat ones."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel


def groups(model):
    params = [p for p in model.parameters() if p.requires_grad]
    decay = [p for p in params if p.dim() >= 2]  # distkb: script.chosen-after-fsdp
    return [{"params": decay, "weight_decay": 0.1}]


def main(net):
    dist.init_process_group("nccl")
    model = FullyShardedDataParallel(net)
    optimizer = torch.optim.AdamW(groups(model), lr=1e-3)
    for name, parameter in model.named_parameters():
        if "embed" in name:  # distkb: script.chosen-after-fsdp
            print(name, parameter.numel())
    return model, optimizer
