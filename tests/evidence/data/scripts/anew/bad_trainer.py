"""The trainer restores its optimizer and makes it again when it begins."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Trainer:
    def __init__(self, model, path):
        self.model = DistributedDataParallel(model)
        self.path = path
        self.optimizer = self.scheduler = None

    def configure(self):
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 1000)

    def restore(self):
        state = torch.load(self.path, map_location="cpu")
        if self.optimizer is None:
            self.configure()
        self.model.module.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        return state["epoch"]

    def fit(self, loader):
        self.configure()  # distkb: script.made-anew-after-restore
        for batch in loader:
            self.model(batch).mean().backward()
            self.optimizer.step()
            self.scheduler.step()


def main(model, loader, resume):
    dist.init_process_group("nccl")
    trainer = Trainer(model, "last.pt")
    if resume:
        trainer.restore()
    trainer.fit(loader)
