import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset


def make_signals(n, length, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    t = torch.linspace(0, 1, length)
    f = torch.tensor([6.0, 11.0, 17.0, 23.0])[y] + torch.randn(n, generator=g)
    phase = torch.rand(n, generator=g) * 6.28
    x = torch.sin(6.28 * f[:, None] * t + phase[:, None])
    x = x + 1.2 * torch.randn(n, length, generator=g)
    return TensorDataset(x.unsqueeze(1), y)


class BearingData(L.LightningDataModule):
    def __init__(self, batch_size=32, length=256):
        super().__init__()
        self.batch_size, self.length = batch_size, length

    def setup(self, stage):
        self.train = make_signals(3840, self.length, 0)
        self.val = make_signals(640, self.length, 1)

    def train_dataloader(self):
        return DataLoader(self.train, self.batch_size, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.val, self.batch_size)
