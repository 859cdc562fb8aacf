"""Loops that end at a number of steps, and begin with the epoch or the batch that comes next."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from stuff import make_loader


class Trainer:
    def __init__(self, data):
        self.model = DDP(torch.nn.Linear(4, 1))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.1)
        self.loader = make_loader(data)
        self.step = self.epoch = 0

    def restore(self, path):
        state = torch.load(path)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.epoch = state["step"], state["epoch"]

    def fit(self, total):
        while self.step < total:
            self.loader.sampler.set_epoch(self.epoch)
            for batch in self.loader:
                self.model(batch).mean().backward()
                self.optimizer.step()
                self.step += 1
            self.epoch += 1


def from_counter(model, optimizer, loader, total):
    state = torch.load("last.pt")
    optimizer.load_state_dict(state["optimizer"])
    step = state["step"]
    epoch, done = divmod(step, len(loader))
    while step < total:
        loader.sampler.set_epoch(epoch)
        for index, batch in enumerate(loader):
            if index < done:
                continue
            model(batch).mean().backward()
            optimizer.step()
            step += 1
        epoch, done = epoch + 1, 0


def from_place(model, optimizer, data, total):
    state = torch.load("last.pt")
    optimizer.load_state_dict(state["optimizer"])
    step = state["step"]
    loader = make_loader(data, step)
    while step < total:
        for batch in loader:
            model(batch).mean().backward()
            optimizer.step()
            step += 1


def main(data):
    dist.init_process_group("gloo")
    trainer = Trainer(data)
    trainer.restore("last.pt")
    trainer.fit(1000)
    dist.destroy_process_group()
