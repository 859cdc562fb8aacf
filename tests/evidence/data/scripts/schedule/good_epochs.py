"""Schedules that are stepped as often as they are meant to be."""

import torch
from accelerate import Accelerator


def not_prepared():
    accelerator = Accelerator()
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(torch.randn(64, 4), batch_size=8)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[6, 9])
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for _ in range(10):
        for batch in loader:
            accelerator.backward(model(batch).mean())
            optimizer.step()
            optimizer.zero_grad()
        schedule.step()


def counted_in_processes(accelerator, model, optimizer, loader):
    milestones = [6, 9]
    schedule = torch.optim.lr_scheduler.MultiStepLR(
        optimizer, milestones=[m * accelerator.num_processes for m in milestones]
    )
    schedule = accelerator.prepare(schedule)
    for _ in range(10):
        for batch in loader:
            accelerator.backward(model(batch).mean())
            optimizer.step()
            optimizer.zero_grad()
        schedule.step()


def in_every_step(accelerator, model, optimizer, loader):
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=100)
    schedule = accelerator.prepare(schedule)
    for _ in range(10):
        for batch in loader:
            accelerator.backward(model(batch).mean())
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()


not_prepared()
