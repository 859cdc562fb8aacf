"""Model and optimizer one after the other."""

import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from net import LM, loader


def main():
    accelerator = Accelerator(
        fsdp_plugin=FullyShardedDataParallelPlugin(fsdp_version=2)
    )
    model = LM()
    optimizer = torch.optim.AdamW(model.parameters())
    model = accelerator.prepare(model)
    optimizer = accelerator.prepare(optimizer)  # distkb: script.optimizer-prepared-apart
    for x in accelerator.prepare(loader()):
        accelerator.backward(model(x).mean())
        optimizer.step()
        optimizer.zero_grad()


main()
