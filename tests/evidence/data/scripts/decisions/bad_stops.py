"""A method that says when to stop."""

from dataclasses import dataclass

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

from data import load_split
from model import Tagger


@dataclass
class Config:
    epochs: int = 30
    patience: int = 4
    lr: float = 1e-3


class Experiment:
    def __init__(self, cfg):
        self.cfg = cfg
        self.accelerator = Accelerator()
        model = Tagger()
        optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
        self.model, self.optimizer, self.train_loader, self.dev_loader = (
            self.accelerator.prepare(
                model,
                optimizer,
                DataLoader(load_split("train"), 16, shuffle=True),
                DataLoader(load_split("dev"), 16),
            )
        )
        self.best_f1 = 0.0
        self.stale = 0

    def fit(self):
        for epoch in range(self.cfg.epochs):
            self.train_epoch()
            f1 = self.dev_accuracy()
            self.accelerator.print(epoch, f1)
            if self._should_stop(f1):  # distkb: script.decided-by-own-measure
                return

    def _should_stop(self, f1):
        if f1 > self.best_f1:
            self.best_f1, self.stale = f1, 0
            return False
        self.stale += 1
        return self.stale > self.cfg.patience

    def train_epoch(self):
        self.model.train()
        for batch in self.train_loader:
            loss = self.model(**batch)
            self.accelerator.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()

    def dev_accuracy(self):
        self.model.eval()
        right = seen = 0
        for batch in self.dev_loader:
            with torch.no_grad():
                pred = self.model.predict(batch["tokens"]).argmax(-1)
            right += (pred == batch["labels"]).sum().item()
            seen += batch["labels"].numel()
        return right / seen


if __name__ == "__main__":
    Experiment(Config()).fit()
