"""The validation takes the model out of its FSDP1 wrapper."""

import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from net import LM, loader


@torch.no_grad()
def validate(accelerator, model, batches):
    net = accelerator.unwrap_model(model)
    return sum(net(**b).loss for b in batches)  # distkb: script.forward-past-root


def main():
    accelerator = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin())
    model, batches = accelerator.prepare(LM(), loader())
    print(validate(accelerator, model, batches))


main()
