"""DDP looks for what is unused."""

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs
from torch import nn

from data import loader_for


class Fusion(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.text = nn.Embedding(3000, d)
        self.image = nn.Linear(10, d)
        self.head = nn.Linear(d, 2)

    def forward(self, tokens, pixels=None):
        h = self.text(tokens).mean(1)
        if pixels is None:
            return self.head(h)
        return self.head(h + self.image(pixels))


accelerator = Accelerator(
    kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)]
)
model = Fusion()
opt = torch.optim.Adam(model.parameters())
model, opt, loader = accelerator.prepare(model, opt, loader_for("train"))
for tokens, pixels, y in loader:
    loss = nn.functional.cross_entropy(model(tokens, pixels), y)
    accelerator.backward(loss)
    opt.step()
    opt.zero_grad()
