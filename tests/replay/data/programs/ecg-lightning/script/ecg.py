import torch
from torch.utils.data import DataLoader, Dataset
import lightning as L


class Beats(Dataset):
    """Single-lead beats, 3 classes, 180 samples each."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        t = torch.linspace(-1, 1, 180)
        self.y = torch.randint(0, 3, (n,), generator=g)
        width = torch.tensor([0.05, 0.12, 0.05])[self.y].unsqueeze(1)
        shift = torch.tensor([0.0, 0.0, 0.3])[self.y].unsqueeze(1)
        jitter = 0.05 * torch.randn(n, 1, generator=g)
        self.x = torch.exp(-((t - shift - jitter) / width) ** 2) + 0.2 * torch.randn(n, 180, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i].unsqueeze(0), self.y[i]


class BeatData(L.LightningDataModule):
    def __init__(self, batch_size=32):
        super().__init__()
        self.batch_size = batch_size

    def setup(self, stage=None):
        self.train_set, self.val_set = Beats(960, 1), Beats(192, 2)

    def train_dataloader(self):
        return DataLoader(self.train_set, self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, self.batch_size)
