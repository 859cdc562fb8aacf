import math

import torch


class Schedule:
    def __init__(self, steps):
        betas = torch.linspace(1e-4, 0.08, steps)
        self.steps = steps
        self.betas = betas
        self.alphas = 1 - betas
        self.abar = torch.cumprod(self.alphas, 0)

    def noise(self, x0, t):
        eps = torch.randn_like(x0)
        a = self.abar[t][:, None]
        return a.sqrt() * x0 + (1 - a).sqrt() * eps, eps

    @torch.no_grad()
    def sample(self, net, n):
        x = torch.randn(n, 2)
        for i in reversed(range(self.steps)):
            t = torch.full((n,), i, dtype=torch.long)
            eps = net(x, t)
            a, ab = self.alphas[i], self.abar[i]
            x = (x - (1 - a) / (1 - ab).sqrt() * eps) / a.sqrt()
            if i:
                x = x + self.betas[i].sqrt() * torch.randn_like(x)
        return x


def two_moons(n, gen):
    ang = torch.rand(n, generator=gen) * math.pi
    side = torch.randint(0, 2, (n,), generator=gen)
    x = torch.stack([ang.cos(), ang.sin()], 1)
    x[side == 1] = torch.stack([1 - ang.cos(), 0.5 - ang.sin()], 1)[side == 1]
    return (x + 0.05 * torch.randn(n, 2, generator=gen) - torch.tensor([0.5, 0.25])) * 1.5
