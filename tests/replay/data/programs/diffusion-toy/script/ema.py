import copy

import torch


class EMA:
    """Shadow weights, started after `start` optimizer steps."""

    def __init__(self, decay, start):
        self.decay = decay
        self.start = start
        self.shadow = None

    @torch.no_grad()
    def step(self, model, step):
        if step < self.start:
            return
        if self.shadow is None:
            self.shadow = copy.deepcopy(model).eval().requires_grad_(False)
            return
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.lerp_(p, 1 - self.decay)
