"""Loaders that need no workers, have them, or are not trained on."""

import torch
from PIL import Image
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler, TensorDataset


class Photos(Dataset):
    def __init__(self, files, transform):
        self.files, self.transform = files, transform

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return self.transform(Image.open(self.files[i]))


class Kept(Dataset):
    def __init__(self, files):
        self.images = [Image.open(file) for file in files]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return torch.as_tensor(self.images[i])


def loaders(model, files, transform, workers):
    wrapped = DistributedDataParallel(model)
    data = Photos(files, transform)
    train = DataLoader(data, 64, sampler=DistributedSampler(data), num_workers=workers)
    val_loader = DataLoader(data, 64, shuffle=False)
    plain = DataLoader(TensorDataset(torch.zeros(64, 4)), 8, shuffle=True)
    kept = DataLoader(Kept(files), 8, shuffle=True)
    return wrapped, train, val_loader, plain, kept
