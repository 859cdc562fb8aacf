"""Losses kept with their graphs, where an accelerator or a scaler begins the backward."""

import torch.distributed as dist


def accelerated(model, loader, optimizer, accelerator):
    total = 0.0
    for batch in loader:
        loss = model(batch).mean()
        accelerator.backward(loss)
        optimizer.step()
        total += loss  # distkb: script.graph-kept
    return total


def scaled(model, loader, optimizer, scaler):
    history = []
    for batch in loader:
        loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        history.append(loss)  # distkb: script.graph-kept
    return history


def world():
    return dist.get_world_size()
