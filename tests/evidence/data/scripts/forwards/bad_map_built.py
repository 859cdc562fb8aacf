"""A map that a class hands on."""

import torch
from accelerate import Accelerator
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

from data import loader


class Builder:
    def __init__(self, name, **kwargs):
        self.name, self.kwargs = name, kwargs

    def build(self):
        model = AutoModelForCausalLM.from_pretrained(self.name, **self.kwargs)  # distkb: script.map-in-every-process
        return get_peft_model(model, LoraConfig(r=8))


accelerator = Accelerator()
model = Builder("llama", device_map="auto", torch_dtype=torch.bfloat16).build()
opt = torch.optim.AdamW(model.parameters())
model, opt, dl = accelerator.prepare(model, opt, loader())
for b in dl:
    accelerator.backward(model(**b).loss)
    opt.step()
