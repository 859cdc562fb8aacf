"""Updates that are not the same on every rank, or change behind the wrapper."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import ReduceLROnPlateau


def validate(model, loader):
    total = 0.0
    for batch in loader:
        total += model(batch).sum().item()
    return total / len(loader)


def fit(net, train_loader, val_loader):
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = ReduceLROnPlateau(optimizer, patience=1)
    for _ in range(10):
        for batch in train_loader:
            model(batch).sum().backward()
            optimizer.step()
        val_loss = validate(model, val_loader)
        scheduler.step(val_loss)  # distkb: script.plateau-on-own-measure


class Trainer:
    def __init__(self, net):
        self.rank = dist.get_rank()
        self.model = DistributedDataParallel(net)
        rate = 0.1 * (1 + self.rank)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=rate)  # distkb: script.rate-by-rank

    def unfreeze_later(self):
        for parameter in self.model.module.backbone.parameters():
            parameter.requires_grad = False  # distkb: script.frozen-after-ddp


def freeze(net):
    model = FullyShardedDataParallel(net)
    model.encoder.requires_grad_(False)  # distkb: script.frozen-after-fsdp
    return model


def load(net, path):
    model = DistributedDataParallel(net)
    if dist.get_rank() == 0:
        model.module.load_state_dict(torch.load(path))  # distkb: script.loaded-by-one-after-ddp
    return model


def resume_and_fit(net, path, loader):
    model = load(net, path)
    for batch in loader:
        model(batch).sum().backward()


def sums(model, loader, optimizer):
    running, history = 0.0, []
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        running += loss  # distkb: script.graph-kept
    return running, history


def lists(model, loader, optimizer):
    history = []
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        history.append(loss)  # distkb: script.graph-kept
    return history


def scaled(model, loader, optimizer, scaler):
    for batch in loader:
        loss = model(batch).mean()
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # distkb: script.clipped-before-unscale
        scaler.step(optimizer)
        scaler.update()
