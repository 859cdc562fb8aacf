"""Divided by the processes in a helper."""

import torch
from accelerate import Accelerator
from stuff import make_loader, make_model
from torch.optim.lr_scheduler import LambdaLR


def steps_per_epoch(loader, accum, world):
    return len(loader) // (accum * world)


def main(epochs=3, accum=2):
    accelerator = Accelerator(gradient_accumulation_steps=accum)
    model = make_model()
    opt = torch.optim.AdamW(model.parameters(), 1e-4)
    loader = make_loader()
    total = epochs * steps_per_epoch(loader, accum, accelerator.num_processes)
    sched = LambdaLR(opt, lambda s: max(0.0, 1 - s / total))
    model, opt, loader, sched = accelerator.prepare(model, opt, loader, sched)
    for _ in range(epochs):
        for batch in loader:
            with accelerator.accumulate(model):
                accelerator.backward(model(**batch).loss)
                opt.step()
                sched.step()  # distkb: script.schedule-of-divided-length
                opt.zero_grad()


main()
