"""A loader that nobody prepares."""

from accelerate import Accelerator
import torch
from torch.utils.data import DataLoader
from mod import make_model, make_dataset


def main():
    accelerator = Accelerator(mixed_precision="bf16")
    model = make_model()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
    loader = DataLoader(make_dataset(), batch_size=16, shuffle=True)  # distkb: script.loader-not-prepared
    model, opt = accelerator.prepare(model, opt)
    for epoch in range(3):
        for batch in loader:
            batch = {k: v.to(accelerator.device) for k, v in batch.items()}
            loss = model(**batch).loss
            accelerator.backward(loss)
            opt.step()
            opt.zero_grad()


main()
