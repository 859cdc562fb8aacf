import math

import torch
from accelerate import Accelerator
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader


def cosine(total, processes):
    return lambda step: 0.5 * (1 + math.cos(math.pi * min(1, step / (total * processes))))


def main(data, epochs):
    accelerator = Accelerator()
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(data, 8)
    before = epochs * len(loader)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    total = epochs * len(loader)

    def factor(step):
        return max(0.0, 1 - step / (total * accelerator.num_processes))

    first = accelerator.prepare(LambdaLR(optimizer, factor))
    second = accelerator.prepare(LambdaLR(optimizer, lambda step: max(0.0, 1 - step / before)))
    third = accelerator.prepare(LambdaLR(optimizer, cosine(total, accelerator.num_processes)))
    own = LambdaLR(optimizer, lambda step: max(0.0, 1 - step / total))
    for _ in range(epochs):
        for x in loader:
            accelerator.backward(model(x).sum())
            optimizer.step()
            for schedule in (first, second, third, own):
                schedule.step()
            own.step()
            first.step()
            second.step()
            third.step()
            optimizer.zero_grad()
