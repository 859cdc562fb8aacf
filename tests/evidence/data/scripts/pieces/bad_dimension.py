"""Parameters that are sorted by their dimension after FSDP has cut them up, in several ways."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def configure(model):
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    decay = [p for p in named.values() if p.dim() >= 2]  # distkb: script.dimension-of-piece
    bare = [p for n, p in named.items() if "bias" in n]
    return torch.optim.AdamW([{"params": decay}, {"params": bare, "weight_decay": 0.0}])


def is_matrix(p):
    return len(p.shape) > 1


def hidden(named):
    return [p for _, p in named if is_matrix(p)]  # distkb: script.dimension-of-piece


class Trainer:
    def __init__(self, net):
        self.model = FSDP(net, use_orig_params=True)
        self.groups = ([], [])

    def sort(self):
        for _, p in self.model.named_parameters():
            which = 0 if p.ndim == 2 else 1  # distkb: script.dimension-of-piece
            self.groups[which].append(p)

    def tables(self, rows):
        return list(filter(lambda p: p.shape[0] == rows, self.model.parameters()))  # distkb: script.dimension-of-piece


def main(net):
    dist.init_process_group("nccl")
    model = FSDP(net, use_orig_params=True)
    return configure(model), hidden(model.named_parameters())
