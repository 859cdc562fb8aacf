"""`generate` of an engine in ZeRO's third stage."""

import deepspeed
from transformers import AutoModelForCausalLM

from data import loader

cfg = {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3}}
engine, _, _, _ = deepspeed.initialize(
    model=AutoModelForCausalLM.from_pretrained("x"), config=cfg
)
for b in loader():
    engine.backward(engine(**b).loss)
    engine.step()
for b in loader("val"):
    print(engine.module.generate(b["input_ids"].cuda(), max_new_tokens=50))  # distkb: script.generate-not-synced
