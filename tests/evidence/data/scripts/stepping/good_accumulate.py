"""Accelerate counts."""

from accelerate import Accelerator
import torch
from lib import net, loader

acc = Accelerator(gradient_accumulation_steps=4)
opt = torch.optim.AdamW(net.parameters())
model, opt, loader = acc.prepare(net, opt, loader)
for i, b in enumerate(loader):
    with acc.accumulate(model):
        loss = model(b)
        acc.backward(loss)
        opt.step()
        opt.zero_grad()
