"""Counted on a loader before it is prepared."""

import torch
from accelerate import Accelerator
from stuff import Data, make_model
from torch.utils.data import DataLoader
from transformers import get_linear_schedule_with_warmup


def main(epochs=3):
    accelerator = Accelerator()
    model = make_model()
    opt = torch.optim.AdamW(model.parameters(), 1e-4)
    loader = DataLoader(Data(), 8, shuffle=True)
    total = len(loader) * epochs
    sched = get_linear_schedule_with_warmup(opt, total // 10, total)
    model, opt, loader = accelerator.prepare(model, opt, loader)
    for _ in range(epochs):
        for batch in loader:
            accelerator.backward(model(**batch).loss)
            opt.step()
            sched.step()  # distkb: script.schedule-of-whole-length
            opt.zero_grad()


main()
