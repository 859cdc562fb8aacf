"""Clipping beside the engine."""

import deepspeed
import torch
from lib import Net, loader

CFG = {"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2}, "optimizer": {"type": "Adam", "params": {"lr": 1e-4}}}


class T:
    def __init__(self):
        net = Net()
        self.engine, *_ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=CFG)

    def norm(self):
        return sum(p.grad.norm() ** 2 for p in self.engine.module.parameters() if p.grad is not None) ** 0.5

    def step(self, b):
        self.engine.backward(self.engine(b))
        torch.nn.utils.clip_grad_norm_(self.engine.parameters(), 1.0)  # distkb: script.gradients-beside-engine
        print(self.norm())
        self.engine.step()


t = T()
for b in loader():
    t.step(b)
