import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset


def render(n, size, seed):
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    imgs, masks = [], []
    for _ in range(n):
        cx, cy = torch.randint(6, size - 6, (2,), generator=g)
        r = torch.randint(3, 9, (1,), generator=g)
        m = ((xx - cx) ** 2 + (yy - cy) ** 2 < r ** 2).float()
        ground = 0.4 + 0.2 * torch.rand(3, 1, 1, generator=g)
        water = torch.tensor([0.1, 0.25, 0.45]).view(3, 1, 1)
        img = ground * (1 - m) + water * m + 0.08 * torch.randn(3, size, size, generator=g)
        imgs.append(img)
        masks.append(m)
    return TensorDataset(torch.stack(imgs), torch.stack(masks))


class Tiles(L.LightningDataModule):
    def __init__(self, n_train, n_val, size, batch_size):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage=None):
        h = self.hparams
        self.train = render(h.n_train, h.size, 1)
        self.val = render(h.n_val, h.size, 2)

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=self.hparams.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=self.hparams.batch_size)
