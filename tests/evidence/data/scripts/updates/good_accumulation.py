"""Gradients that are averaged at the update, a state that all ranks load, a model that only saves past its wrapper."""

import contextlib

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel


def accumulate(net, loader, every):
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, batch in enumerate(loader):
        block = contextlib.nullcontext() if (step + 1) % every == 0 else model.no_sync()
        with block:
            model(batch).sum().backward()
        if (step + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()
        if step % every == 0:
            print(step)


def resume(net, path):
    optimizer = torch.optim.Adam(net.parameters())
    state = torch.load(path)
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    model = DistributedDataParallel(net)
    dist.barrier()
    return model, optimizer


def unwrapped(net, loader):
    accelerator = Accelerator()
    optimizer = torch.optim.Adam(net.parameters())
    net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    inner = accelerator.unwrap_model(net)
    for batch in loader:
        accelerator.backward(net(batch).sum())
        optimizer.step()
    accelerator.save(inner.state_dict(), "net.pt")
