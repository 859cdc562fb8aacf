import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


def main(valid):
    accelerator = Accelerator()
    model = torch.nn.Linear(4, 4)
    loader = DataLoader(valid, batch_size=32)
    model, loader = accelerator.prepare(model, loader)
    right, losses = 0, []
    for x, y in loader:
        out = model(x)
        guesses, labels = accelerator.gather_for_metrics((out.argmax(-1), y))
        right += (guesses == labels).sum().item()
        losses.append(accelerator.gather(torch.nn.functional.cross_entropy(out, y).repeat(len(y))))
    accelerator.print(right / len(loader.dataset), torch.cat(losses).sum() / len(valid))
