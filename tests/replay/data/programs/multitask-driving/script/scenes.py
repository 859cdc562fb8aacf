"""Small range-sensor scenes: 64 beams -> steering, distance of the nearest obstacle, lane class."""
import torch

NOISE = {"harbour": (0.05, 0.9), "airport": (0.8, 0.1)}  # steering, distance label noise per site


def make_site(name, n, seed):
    g = torch.Generator().manual_seed(seed)
    beams = torch.rand(n, 64, generator=g) * 2 + 0.2
    centre = torch.randint(4, 60, (n,), generator=g)
    for i, c in enumerate(centre.tolist()):
        beams[i, c - 3 : c + 3] *= 0.3
    s_noise, d_noise = NOISE[name]
    steer = (centre.float() - 32) / 32 + s_noise * torch.randn(n, generator=g)
    dist = beams.min(1).values * 3 + d_noise * torch.randn(n, generator=g)
    lane = (centre > 21).long() + (centre > 42).long()
    return beams, steer, dist, lane
