"""Gradients that are averaged at another step than the update, a state that one rank loads, a model past its wrapper."""

import contextlib

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel


class Net(torch.nn.Module):
    def loss_of(self, batch):
        return self(batch).sum()


def accumulate(net, loader, every):
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, batch in enumerate(loader):
        block = contextlib.nullcontext() if step % every == 0 else model.no_sync()  # distkb: script.averaged-at-other-step
        with block:
            model(batch).sum().backward()
        if (step + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()


def resume(net, loader, path):
    optimizer = torch.optim.Adam(net.parameters())
    if dist.get_rank() == 0:
        state = torch.load(path)
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])  # distkb: script.optimizer-loaded-by-one
    model = DistributedDataParallel(net)
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()


def unwrapped(net, loader):
    accelerator = Accelerator()
    optimizer = torch.optim.Adam(net.parameters())
    net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    inner = accelerator.unwrap_model(net)
    for batch in loader:
        loss = inner.loss_of(batch)  # distkb: script.forward-past-ddp
        accelerator.backward(loss)
        optimizer.step()
