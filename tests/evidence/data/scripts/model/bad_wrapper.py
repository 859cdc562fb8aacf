"""Values that never reach the model inside the wrapper."""

import torch
from torch.nn.parallel import DistributedDataParallel


class Captioner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.forcing = 1.0
        self.context = 8
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x[:, -self.context :]) * self.forcing


class Sampling:
    def __init__(self, model):
        self.model = model

    def update(self, step):
        self.model.forcing = 0.99**step  # distkb: script.value-set-on-wrapper


def main():
    model = DistributedDataParallel(Captioner())
    sampling = Sampling(model)
    for step in range(10):
        sampling.update(step)
        model.context = 8 + step  # distkb: script.value-set-on-wrapper
        model(torch.randn(2, 8)).mean().backward()


main()
