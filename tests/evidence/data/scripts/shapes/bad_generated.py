"""Texts of different lengths are gathered."""

import torch
from accelerate import Accelerator
from stuff import Net, make_loader


def main():
    accelerator = Accelerator()
    net, dl = accelerator.prepare(Net(), make_loader())
    everything = []
    for batch in dl:
        with torch.no_grad():
            out = net.module.generate(batch["input_ids"], max_new_tokens=64)
        everything.append(accelerator.gather(out))  # distkb: script.gathered-by-own-length
    accelerator.print(len(everything))


main()
