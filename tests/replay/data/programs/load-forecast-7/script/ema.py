import copy

import torch


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.pairs = list(zip(self.model.parameters(), model.parameters()))
        self.steps = 0

    @torch.no_grad()
    def update(self):
        self.steps += 1
        d = min(self.decay, (1 + self.steps) / (10 + self.steps))
        for avg, p in self.pairs:
            avg.lerp_(p.detach(), 1 - d)
