import math

import torch


class Pendulum:
    """Batch of swing-up pendulums."""

    def __init__(self, n, seed):
        self.n = n
        self.g = torch.Generator().manual_seed(seed)
        self.reset()

    def reset(self):
        self.th = (torch.rand(self.n, generator=self.g) * 2 - 1) * math.pi
        self.om = torch.rand(self.n, generator=self.g) * 2 - 1
        return self.obs()

    def obs(self):
        return torch.stack([self.th.cos(), self.th.sin(), self.om / 8], dim=1)

    def step(self, u):
        u = u.clamp(-2, 2)
        th = (self.th + math.pi) % (2 * math.pi) - math.pi
        cost = th ** 2 + 0.1 * self.om ** 2 + 0.001 * u ** 2
        self.om = (self.om + (15 * th.sin() + 3 * u) * 0.05).clamp(-8, 8)
        self.th = self.th + self.om * 0.05
        return self.obs(), -cost
