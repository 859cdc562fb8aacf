"""An optimizer that Accelerate does not know, where gradients are accumulated."""

import torch
from accelerate import Accelerator


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)


def make_optimizer(net):
    return torch.optim.AdamW(net.parameters(), lr=3e-4)


def main(loader):
    accelerator = Accelerator(gradient_accumulation_steps=8)
    net, loader = accelerator.prepare(Net(), loader)
    optimizer = make_optimizer(net)
    for batch in loader:
        with accelerator.accumulate(net):
            accelerator.backward(net(batch).mean())
            optimizer.step()  # distkb: script.optimizer-not-prepared
            optimizer.zero_grad()
