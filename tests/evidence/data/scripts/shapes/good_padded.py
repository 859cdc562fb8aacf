"""Padded before they are gathered."""

import torch
from accelerate import Accelerator
from stuff import PAD, Net, make_loader


def main():
    accelerator = Accelerator()
    net, dl = accelerator.prepare(Net(), make_loader())
    everything = []
    for batch in dl:
        with torch.no_grad():
            out = accelerator.unwrap_model(net).generate(
                batch["input_ids"], max_new_tokens=64
            )
        out = accelerator.pad_across_processes(out, dim=1, pad_index=PAD)
        everything.append(accelerator.gather_for_metrics(out))
    accelerator.print(len(everything))


main()
