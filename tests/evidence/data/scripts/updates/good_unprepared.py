"""An optimizer that is prepared, in a helper, and one that steps where the gradients are complete."""

import torch
from accelerate import Accelerator


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)


def build(accelerator, loader):
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4)
    return accelerator.prepare(net, optimizer, loader)


def main(loader):
    accelerator = Accelerator(gradient_accumulation_steps=8)
    net, optimizer, loader = build(accelerator, loader)
    for batch in loader:
        with accelerator.accumulate(net):
            accelerator.backward(net(batch).mean())
            optimizer.step()
            optimizer.zero_grad()


def by_hand(loader):
    accelerator = Accelerator()
    net, loader = accelerator.prepare(Net(), loader)
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4)
    for batch in loader:
        accelerator.backward(net(batch).mean())
        optimizer.step()
