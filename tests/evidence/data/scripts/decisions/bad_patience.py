import torch
from torch.nn.parallel import DistributedDataParallel as DDP


class Stopper:
    def __init__(self, patience):
        self.patience = patience
        self.best = float("inf")
        self.bad = 0

    def stop(self, loss):
        if loss < self.best:
            self.best, self.bad = loss, 0
        else:
            self.bad += 1
        return self.bad >= self.patience


def evaluate(model, loader):
    total = 0.0
    with torch.no_grad():
        for batch in loader:
            total += model(batch).sum().item()
    return total / len(loader)


def main(loader, held_out, model, optimizer):
    model = DDP(model)
    stopper = Stopper(3)
    for _ in range(20):
        for batch in loader:
            loss = model(batch).sum()
            loss.backward()
            optimizer.step()
        val_loss = evaluate(model.module, held_out)
        if stopper.stop(val_loss):  # distkb: script.decided-by-own-measure
            break
