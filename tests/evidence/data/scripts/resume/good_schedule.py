"""The schedule goes on where it was."""

import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def load(path, model, optimizer, scheduler=None):
    state = torch.load(path, map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    if scheduler is not None:
        scheduler.load_state_dict(state["scheduler"])
    return state["step"]


def main(loader):
    model = DDP(torch.nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)
    step = load("last.pt", model, optimizer, scheduler)
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()
        scheduler.step()
        step += 1
    return step
