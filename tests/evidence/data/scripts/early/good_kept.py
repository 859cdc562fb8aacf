import copy

import torch
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel


class Average:
    def __init__(self, net, decay):
        self.decay = decay
        self.shadow = copy.deepcopy(net)
        self.pairs = list(zip(self.shadow.parameters(), net.parameters()))

    def update(self):
        for mean, weight in self.pairs:
            mean.lerp_(weight.detach(), 1 - self.decay)


class Followed:
    def __init__(self, net, decay):
        self.net, self.decay = net, decay
        self.shadow = copy.deepcopy(net)

    def update(self):
        for mean, weight in zip(self.shadow.parameters(), self.net.parameters()):
            mean.lerp_(weight.detach().full_tensor(), 1 - self.decay)


def sharded(model, loader):
    average = Followed(model, 0.999)  # looks at the model's parameters anew each time
    for block in model.layers:
        fully_shard(block)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        average.update()


def replicated(model, loader):
    average = Average(model, 0.999)  # DDP leaves the parameters where they are
    model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        average.update()
