"""A schedule that is prepared, and as long as one process's part of the data."""

from accelerate import Accelerator
from torch.optim.lr_scheduler import OneCycleLR
from transformers import get_scheduler


def total(loader, epochs):
    return len(loader) * epochs


def main(net, optimizer, loader, epochs):
    accelerator = Accelerator()
    net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    schedule = get_scheduler("linear", optimizer, num_warmup_steps=10, num_training_steps=total(loader, epochs))
    schedule = accelerator.prepare(schedule)
    for batch in loader:
        accelerator.backward(net(batch).mean())
        optimizer.step()
        schedule.step()  # distkb: script.schedule-of-prepared-length


def cycle(net, optimizer, loader):
    accelerator = Accelerator()
    net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    schedule = accelerator.prepare(OneCycleLR(optimizer, max_lr=0.1, total_steps=len(loader)))
    for batch in loader:
        accelerator.backward(net(batch).mean())
        optimizer.step()
        schedule.step()  # distkb: script.schedule-of-prepared-length
