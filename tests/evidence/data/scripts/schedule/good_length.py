"""Schedules whose length counts all processes, or that Accelerate does not step by itself."""

from accelerate import Accelerator
from transformers import get_scheduler


def before(net, optimizer, loader, epochs):
    accelerator = Accelerator()
    schedule = get_scheduler("linear", optimizer, num_training_steps=len(loader) * epochs)
    net, optimizer, loader, schedule = accelerator.prepare(net, optimizer, loader, schedule)
    for batch in loader:
        accelerator.backward(net(batch).mean())
        optimizer.step()
        schedule.step()


def multiplied(net, optimizer, loader, epochs):
    accelerator = Accelerator()
    net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    steps = len(loader) * epochs * accelerator.num_processes
    schedule = accelerator.prepare(get_scheduler("linear", optimizer, num_training_steps=steps))
    for batch in loader:
        accelerator.backward(net(batch).mean())
        optimizer.step()
        schedule.step()


def bare(net, optimizer, loader, epochs):
    accelerator = Accelerator()
    net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    schedule = get_scheduler("linear", optimizer, num_training_steps=len(loader) * epochs)
    for batch in loader:
        accelerator.backward(net(batch).mean())
        optimizer.step()
        schedule.step()
