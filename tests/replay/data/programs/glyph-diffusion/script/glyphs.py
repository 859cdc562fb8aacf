import torch
from torch.utils.data import Dataset


class Glyphs(Dataset):
    """16x16 line drawings: bars, boxes and crosses at random places."""

    def __init__(self, n=768, size=16, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.images = torch.full((n, 1, size, size), -1.0)
        for i in range(n):
            kind = int(torch.randint(0, 3, (1,), generator=g))
            r, c = torch.randint(2, size - 7, (2,), generator=g).tolist()
            img = self.images[i, 0]
            if kind == 0:
                img[r:r + 6, c:c + 2] = 1.0
            elif kind == 1:
                img[r:r + 6, c:c + 6] = 1.0
                img[r + 1:r + 5, c + 1:c + 5] = -1.0
            else:
                img[r + 2:r + 4, c:c + 6] = 1.0
                img[r:r + 6, c + 2:c + 4] = 1.0

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i]
