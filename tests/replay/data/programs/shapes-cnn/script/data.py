import torch
from torch.utils.data import TensorDataset


def draw(kind, g):
    size = 20
    img = torch.zeros(size, size)
    r = int(torch.randint(4, 8, (1,), generator=g))
    cy, cx = (int(v) for v in torch.randint(r, size - r, (2,), generator=g))
    yy, xx = torch.meshgrid(torch.arange(size) - cy, torch.arange(size) - cx, indexing="ij")
    if kind == 0:
        m = yy ** 2 + xx ** 2 <= r * r
    elif kind == 1:
        m = (yy.abs() < r) & (xx.abs() < r)
    elif kind == 2:
        m = yy.abs() + xx.abs() <= r
    else:
        m = ((yy.abs() < 2) & (xx.abs() < r)) | ((xx.abs() < 2) & (yy.abs() < r))
    img[m] = 1.0
    # scanner output: 8 bit counts
    return img * 90 + 120 + 35 * torch.randn(size, size, generator=g)


def make(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    x = torch.stack([draw(int(k), g) for k in y]).unsqueeze(1)
    return TensorDataset(x, y)
