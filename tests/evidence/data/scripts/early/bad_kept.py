import copy

import torch
from torch.distributed.fsdp import fully_shard


class Average:
    def __init__(self, net, decay):
        self.decay = decay
        self.shadow = copy.deepcopy(net)
        self.pairs = list(zip(self.shadow.parameters(), net.parameters()))

    def update(self):
        for mean, weight in self.pairs:
            mean.lerp_(weight.detach(), 1 - self.decay)


def train(model, loader):
    average = Average(model, 0.999)  # distkb: script.parameters-kept-before-sharding
    for block in model.layers:
        fully_shard(block)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        average.update()
