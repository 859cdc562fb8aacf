"""What is restored is kept."""

import torch
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel


class Trainer:
    def __init__(self, model):
        self.model = DistributedDataParallel(model)
        self.optimizer = None

    def configure(self):
        if self.optimizer is None:
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    def restore(self, path):
        self.configure()
        state = torch.load(path, map_location="cpu")
        self.model.module.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        return state["step"]

    def fit(self, loader):
        self.configure()
        for batch in loader:
            self.model(batch).mean().backward()
            self.optimizer.step()


def main(model, loader, path):
    trainer = Trainer(model)
    trainer.restore(path)
    trainer.fit(loader)


def prepared(model, optimizer, loader, path):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    accelerator.load_state(path)
    return model, optimizer, loader
