"""A batch that does not fit is dropped by the rank that got it."""

import torch
from accelerate import Accelerator
from stuff import Data, Model, log
from torch.utils.data import DataLoader


def main():
    accelerator = Accelerator(mixed_precision="fp16")
    model = Model()
    opt = torch.optim.AdamW(model.parameters())
    model, opt, loader = accelerator.prepare(
        model, opt, DataLoader(Data(), 4, shuffle=True)
    )
    for step, batch in enumerate(loader):
        try:  # distkb: script.step-dropped-on-error
            loss = model(**batch).loss
            accelerator.backward(loss)
        except torch.cuda.OutOfMemoryError:
            log(step, "out of memory, batch skipped")
            opt.zero_grad()
            torch.cuda.empty_cache()
            continue
        opt.step()
        opt.zero_grad()


main()
