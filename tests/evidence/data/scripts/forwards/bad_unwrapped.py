"""The unwrapped model is trained."""

import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from net import LM, loader


def main():
    accelerator = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin())
    model = LM()
    opt = torch.optim.Adam(model.parameters())
    model, opt, dl = accelerator.prepare(model, opt, loader())
    core = accelerator.unwrap_model(model)
    for b in dl:
        loss = core(**b).loss  # distkb: script.forward-past-root
        accelerator.backward(loss)
        opt.step()
        opt.zero_grad()


main()
