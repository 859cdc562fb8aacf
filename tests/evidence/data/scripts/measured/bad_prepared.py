import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


def count(accelerator, model, loader):
    right = 0
    for x, y in loader:
        with torch.no_grad():
            right += (model(x).argmax(-1) == y).sum().item()
    return right


def main(train, valid):
    accelerator = Accelerator()
    model = torch.nn.Linear(4, 4)
    loader = DataLoader(valid, batch_size=32)
    model, loader = accelerator.prepare(model, loader)
    right = count(accelerator, model, loader)
    accelerator.print(f"accuracy {right / len(valid):.3f}")  # distkb: script.share-divided-by-whole
