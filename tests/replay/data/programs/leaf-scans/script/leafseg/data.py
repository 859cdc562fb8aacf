import numpy as np
import torch
from torch.utils.data import Dataset


class LeafScans(Dataset):
    """Drawn leaves with lesions, 48 x 48, mask of the lesions as the target."""

    def __init__(self, n, seed, size=48):
        self.n, self.seed, self.size = n, seed, size
        yy, xx = np.mgrid[:size, :size].astype(np.float32) / size
        self.grid = yy, xx

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        rng = np.random.default_rng((self.seed, i))
        yy, xx = self.grid
        leaf = ((yy - 0.5) / 0.45) ** 2 + ((xx - 0.5) / rng.uniform(0.2, 0.4)) ** 2 < 1
        img = np.stack([0.2 * leaf, 0.6 * leaf, 0.2 * leaf]).astype(np.float32)
        mask = np.zeros((self.size, self.size), bool)
        for _ in range(rng.integers(1, 5)):
            cy, cx = rng.uniform(0.2, 0.8), rng.uniform(0.35, 0.65)
            r = rng.uniform(0.03, 0.1)
            mask |= (yy - cy) ** 2 + (xx - cx) ** 2 < r * r
        mask &= leaf
        img[0] += 0.4 * mask
        img[1] -= 0.2 * mask
        img += rng.normal(0, 0.12, img.shape)
        return torch.from_numpy(img), torch.from_numpy(mask.astype(np.float32))
