"""A map of devices before the third stage."""

import torch
from accelerate import Accelerator, DeepSpeedPlugin
from transformers import AutoModelForCausalLM

from data import loader

accelerator = Accelerator(deepspeed_plugin=DeepSpeedPlugin(zero_stage=3))
model = AutoModelForCausalLM.from_pretrained(  # distkb: script.map-with-sharding
    "llama", device_map={"": accelerator.local_process_index}, low_cpu_mem_usage=True
)
opt = torch.optim.AdamW(model.parameters())
model, opt, dl = accelerator.prepare(model, opt, loader())
for b in dl:
    accelerator.backward(model(**b).loss)
    opt.step()
