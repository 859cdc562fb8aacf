from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset


class Cohort(Dataset):
    def __init__(self, folder):
        folder = Path(folder)
        stats = np.load(folder / "stats.npz")
        self.mean, self.std = stats["mean"], stats["std"]
        geno = np.load(folder / "geno.npy").astype(np.float32)
        self.x = (geno - self.mean) / self.std
        self.y = np.load(folder / "trait.npy")

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), torch.tensor(self.y[i])
