"""What ZeRO-3 has partitioned, saved and read as it has to be."""

import deepspeed
import torch

SETTINGS = {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3}}


def norm(engine):
    total = 0.0
    for parameter in engine.module.parameters():
        with deepspeed.zero.GatheredParameters([parameter]):
            total += parameter.norm().item()
    return total


def main(loader):
    engine, *_ = deepspeed.initialize(model=torch.nn.Linear(4, 4), config=SETTINGS)
    for batch in loader:
        engine.backward(engine(batch).mean())
        engine.step()
    norm(engine)
    engine.save_checkpoint("out")
    engine.save_16bit_model("out")
