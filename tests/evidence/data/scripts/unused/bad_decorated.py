"""A method without a graph runs what is not frozen."""

import torch
from accelerate import Accelerator
from torch import nn
from lib import loader, Vision, Text


class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.vision = Vision()
        self.text = Text()

    @torch.no_grad()
    def encode_image(self, x):
        return self.vision(x)  # distkb: script.layer-without-graph

    def forward(self, img, txt):
        return self.encode_image(img) @ self.text(txt).T


acc = Accelerator()
model = Clip()
opt = torch.optim.AdamW(model.parameters())
model, opt, dl = acc.prepare(model, opt, loader())
for i, t in dl:
    acc.backward(model(i, t).mean())
    opt.step()
    opt.zero_grad()
