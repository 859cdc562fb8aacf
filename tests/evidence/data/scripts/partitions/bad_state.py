"""The state of the module inside."""

import deepspeed
import torch
from net import loader
from transformers import AutoModelForCausalLM

DS = {
    "train_micro_batch_size_per_gpu": 1,
    "zero_optimization": {"stage": 3},
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-5}},
}


def main():
    model = AutoModelForCausalLM.from_pretrained("x")
    engine, _, _, _ = deepspeed.initialize(model=model, config=DS)
    for b in loader():
        loss = engine(**b).loss
        engine.backward(loss)
        engine.step()
    state = engine.module.state_dict()  # distkb: script.state-of-partitioned
    if torch.distributed.get_rank() == 0:
        torch.save(state, "model.pt")


main()
