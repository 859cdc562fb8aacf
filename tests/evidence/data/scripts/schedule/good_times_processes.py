import math

from accelerate import Accelerator
from torch.optim import AdamW
from transformers import get_cosine_schedule_with_warmup


def main(model, loader, epochs):
    accelerator = Accelerator()
    optimizer = AdamW(model.parameters())
    per_epoch = math.ceil(len(loader) / accelerator.num_processes)
    total = epochs * per_epoch * accelerator.num_processes  # as often as the prepared schedule is stepped
    scheduler = get_cosine_schedule_with_warmup(optimizer, 100, total)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for _ in range(epochs):
        for batch in loader:
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
