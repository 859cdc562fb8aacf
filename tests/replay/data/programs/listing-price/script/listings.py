import torch
from torch.utils.data import Dataset

CATEGORIES = ["bikes", "books", "furniture", "phones", "clothes"]
PHOTO_SHARE = {"bikes": 0.55, "books": 0.1, "furniture": 0.5, "phones": 0.45, "clothes": 0.4}


class Listings(Dataset):
    """Sorted by category, as the export gives them."""

    def __init__(self, n, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.rows = []
        per = n // len(CATEGORIES)
        for c, name in enumerate(CATEGORIES):
            for _ in range(per):
                title = torch.randint(c * 100, c * 100 + 100, (8,), generator=g)
                numbers = torch.randn(6, generator=g)
                photo = torch.randn(3, 16, 16, generator=g) if torch.rand(1, generator=g) < PHOTO_SHARE[name] else None
                price = 2.0 + 0.7 * c + 0.5 * numbers[0] + 0.1 * torch.randn(1, generator=g).item()
                self.rows.append((title, numbers, photo, price))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    title = torch.stack([r[0] for r in rows])
    numbers = torch.stack([r[1] for r in rows])
    having = [k for k, r in enumerate(rows) if r[2] is not None]
    photos = torch.stack([rows[k][2] for k in having]) if having else None
    price = torch.stack([torch.as_tensor(r[3]) for r in rows]).float()
    return title, numbers, photos, torch.tensor(having, dtype=torch.long), price
