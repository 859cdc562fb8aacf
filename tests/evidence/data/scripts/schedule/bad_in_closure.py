import torch
from accelerate import Accelerator
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader


def linear(optimizer, warmup, total):
    def factor(step):
        if step < warmup:
            return step / max(1, warmup)
        return max(0.0, (total - step) / max(1, total - warmup))

    return LambdaLR(optimizer, factor)


class Trainer:
    def __init__(self, data, epochs):
        self.accelerator = Accelerator()
        model = torch.nn.Linear(1, 1)
        optimizer = torch.optim.AdamW(model.parameters())
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, DataLoader(data, 8))
        self.total = epochs * len(self.loader)
        self.schedule = self.accelerator.prepare(linear(self.optimizer, int(0.1 * self.total), self.total))
        self.decay = self.accelerator.prepare(LambdaLR(self.optimizer, lambda step: max(0, 1 - step / self.total)))

    def fit(self, epochs):
        for _ in range(epochs):
            for x in self.loader:
                self.accelerator.backward(self.model(x).sum())
                self.optimizer.step()
                self.schedule.step()  # distkb: script.schedule-of-prepared-length
                self.decay.step()  # distkb: script.schedule-of-prepared-length
                self.optimizer.zero_grad()


def main(data):
    Trainer(data, 3).fit(3)
