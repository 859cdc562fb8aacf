"""Numbers kept, where an accelerator or a scaler begins the backward."""

import torch.distributed as dist


def accelerated(model, loader, optimizer, accelerator):
    total = 0.0
    for batch in loader:
        loss = model(batch).mean()
        accelerator.backward(loss)
        optimizer.step()
        total += loss.detach()
    return total


def scaled(model, loader, optimizer, scaler):
    history = []
    for batch in loader:
        loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        history.append(loss.item())
    return history


def evaluated(model, loader, held_out, accelerator):
    for batch in loader:
        loss = model(batch).mean()
        accelerator.backward(loss)
    losses = []
    for batch in held_out:
        loss = model(batch).mean()
        losses.append(loss)
    return losses


def in_parts(model, batches, accelerator):
    for parts in batches:
        total = 0.0
        for part in parts:
            total += model(part).mean()
        accelerator.backward(total)


def world():
    return dist.get_world_size()
