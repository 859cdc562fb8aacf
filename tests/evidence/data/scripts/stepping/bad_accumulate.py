"""Inside of accumulate the loop counts again."""

from accelerate import Accelerator
import torch
from lib import net, loader

acc = Accelerator(gradient_accumulation_steps=4)
opt = torch.optim.AdamW(net.parameters())
model, opt, loader = acc.prepare(net, opt, loader)
for i, b in enumerate(loader):
    with acc.accumulate(model):
        loss = model(b) / 4
        acc.backward(loss)  # distkb: script.accumulation-by-hand
        if (i + 1) % 4 == 0:
            opt.step()
            opt.zero_grad()
