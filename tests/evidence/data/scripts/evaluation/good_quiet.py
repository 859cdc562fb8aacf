"""Evaluation without gradients: by a decorator, a block, or the caller's block."""

import torch
from torch.nn.parallel import DistributedDataParallel as DDP


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    return torch.stack([model(x).mean() for x in loader]).mean()


def validate(model, loader):
    model.eval()
    total = 0.0
    with torch.inference_mode():
        for x in loader:
            total += model(x).mean().item()
    return total


def test(model, loader):
    model.eval()
    total = 0.0
    for x in loader:
        total += model(x).mean().item()
    return total


def main(loader):
    model = DDP(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        model(x).mean().backward()
        optimizer.step()
    evaluate(model, loader)
    validate(model, loader)
    with torch.no_grad():
        test(model, loader)
