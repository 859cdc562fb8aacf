import torch
from torch import nn


class PhotoEncoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU())
        self.proj = nn.Linear(16, dim)

    def forward(self, photos):
        return self.proj(self.conv(photos).mean((2, 3)))


class PriceModel(nn.Module):
    """Second-hand listings: title tokens, a few numbers, and the photo where the seller uploaded one."""

    def __init__(self, vocab=500, numbers=6, dim=32):
        super().__init__()
        self.title = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.numbers = nn.Sequential(nn.Linear(numbers, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.photo = PhotoEncoder(dim)
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, 1))

    def forward(self, title, numbers, photos, photo_rows):
        h = self.title(title) + self.numbers(numbers)
        if photos is not None:
            h = h.index_add(0, photo_rows, self.photo(photos))
        return self.head(h).squeeze(-1)
