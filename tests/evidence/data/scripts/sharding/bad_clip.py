import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


class Loop:
    def __init__(self, model, most):
        self.model, self.most = model, most

    def step(self):
        return nn.utils.clip_grad_norm_(self.model.parameters(), self.most)  # distkb: script.clips-own-shards


def main(net):
    model = FSDP(net)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # distkb: script.clips-own-shards
    return Loop(model, 1.0)
