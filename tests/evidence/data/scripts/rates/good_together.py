"""The loss is brought together before a rate hangs on it."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def set_rate(optimizer, rate):
    for group in optimizer.param_groups:
        group["lr"] = rate


def main(loader, epochs):
    model = DDP(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before, rate = float("inf"), 0.1
    for epoch in range(epochs):
        total = torch.zeros(1)
        for batch in loader:
            loss = model(batch).mean()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        mean = total.item()
        if mean > before:
            rate /= 2
            set_rate(optimizer, rate)
        before = mean
        if epoch == 30:
            set_rate(optimizer, 0.01)
