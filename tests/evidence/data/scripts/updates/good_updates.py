"""The same with what keeps the ranks together."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import ReduceLROnPlateau


def mean(value):
    box = torch.tensor([value])
    dist.all_reduce(box)
    return box.item() / dist.get_world_size()


def fit(net, train_loader, val_loader, path):
    for parameter in net.backbone.parameters():
        parameter.requires_grad = False
    if dist.get_rank() == 0:
        net.load_state_dict(torch.load(path))
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1 * dist.get_world_size())
    scheduler = ReduceLROnPlateau(optimizer, patience=1)
    running = 0.0
    for _ in range(10):
        for batch in train_loader:
            loss = model(batch).sum()
            loss.backward()
            optimizer.step()
            running += loss.item()
        val_loss = sum(model(batch).sum().item() for batch in val_loader)
        val_loss = mean(val_loss)
        scheduler.step(val_loss)
    return running


def accumulated(model, parts, optimizer):
    for batch in parts:
        total = 0.0
        for part in batch:
            loss = model(part).mean()
            total += loss
        total.backward()
        optimizer.step()


def detached(model, loader, optimizer):
    history = []
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        loss = loss.detach()
        history.append(loss)
        optimizer.step()
    return history


def scaled(model, loader, optimizer, scaler):
    for batch in loader:
        loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def take_turns(generator, critic, loader):
    critic = DistributedDataParallel(critic)
    for batch in loader:
        critic.module.head.requires_grad_(False)
        critic(generator(batch)).sum().backward()
        critic.module.head.requires_grad_(True)


def evaluate_best(net, path, loader):
    model = DistributedDataParallel(net)
    for batch in loader:
        model(batch).sum().backward()
    if dist.get_rank() == 0:
        model.module.load_state_dict(torch.load(path))
        return validate(model.module, loader)
    return None


def validate(model, loader):
    return sum(model(batch).sum().item() for batch in loader)
