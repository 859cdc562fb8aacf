"""Reentrant and unused, told to Accelerate."""

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from stuff import loader
from transformers import AutoModelForCausalLM


def main():
    ddp = DistributedDataParallelKwargs(find_unused_parameters=True)
    accelerator = Accelerator(kwargs_handlers=[ddp])
    model = AutoModelForCausalLM.from_pretrained("x")
    model.gradient_checkpointing_enable(  # distkb: script.checkpointing-in-eval, script.reentrant-with-unused
        gradient_checkpointing_kwargs={"use_reentrant": True}
    )
    opt = torch.optim.AdamW(model.parameters())
    model, opt, dl = accelerator.prepare(model, opt, loader())
    for b in dl:
        accelerator.backward(model(**b).loss)
        opt.step()


main()
