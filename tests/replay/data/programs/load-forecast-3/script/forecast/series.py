import torch


def make(sites, hours, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(hours, dtype=torch.float32)
    phase = 6.28 * torch.rand(sites, 1, generator=g)
    level = 1 + torch.rand(sites, 1, generator=g)
    day = torch.sin(6.2832 * t / 24 + phase)
    week = 0.5 * torch.sin(6.2832 * t / 168 + 2 * phase)
    return level * (day + week) + 0.1 * torch.randn(sites, hours, generator=g)


class Windows:
    def __init__(self, series, context, horizon, rank, world, seed):
        self.x = series[rank::world]
        self.context, self.horizon = context, horizon
        self.g = torch.Generator().manual_seed(seed + rank)

    def draw(self, n):
        site = torch.randint(self.x.shape[0], (n,), generator=self.g)
        at = torch.randint(self.x.shape[1] - self.context - self.horizon, (n,), generator=self.g)
        rows = torch.stack([self.x[s, a:a + self.context + self.horizon] for s, a in zip(site, at)])
        return rows[:, :self.context], rows[:, self.context:]
