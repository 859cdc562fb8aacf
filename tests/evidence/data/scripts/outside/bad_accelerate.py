"""A parameter that `prepare` never had."""

import torch
from accelerate import Accelerator
from nets import ImageTower, TextTower
from torch import nn

from data import pairs


def main():
    accelerator = Accelerator()
    image, text = ImageTower(), TextTower()
    temperature = nn.Parameter(torch.tensor(2.6, device=accelerator.device))
    opt = torch.optim.AdamW(  # distkb: script.parameters-outside-ddp
        [*image.parameters(), *text.parameters(), temperature], lr=1e-4
    )
    image, text, opt, loader = accelerator.prepare(image, text, opt, pairs())
    for pixels, tokens in loader:
        logits = temperature.exp() * image(pixels) @ text(tokens).T
        target = torch.arange(len(logits), device=logits.device)
        loss = nn.functional.cross_entropy(logits, target)
        accelerator.backward(loss)
        opt.step()
        opt.zero_grad()


main()
