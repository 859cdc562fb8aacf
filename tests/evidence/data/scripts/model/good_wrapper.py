"""Values that reach the model, and notes that the model does not read."""

import torch
from torch.nn.parallel import DistributedDataParallel


class Captioner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.forcing = 1.0
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x) * self.forcing


def main():
    inner = Captioner()
    inner.forcing = 0.5
    model = DistributedDataParallel(inner)
    for step in range(10):
        model.module.forcing = 0.99**step
        model.best = step
        model.require_backward_grad_sync = True
        model(torch.randn(2, 8)).mean().backward()


main()
