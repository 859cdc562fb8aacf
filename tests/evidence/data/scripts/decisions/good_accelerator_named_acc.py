"""The object that counts the updates is called `acc`, and measures nothing."""

import torch
from accelerate import Accelerator


def main(model, train, updates):
    acc = Accelerator(gradient_accumulation_steps=4)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, opt, train = acc.prepare(model, opt, train)
    update = 0
    while update < updates:
        for batch in train:
            with acc.accumulate(model):
                acc.backward(model(**batch).loss)
                opt.step()
                opt.zero_grad()
            if acc.sync_gradients:
                update += 1
                if update >= updates:
                    break
    acc.end_training()
