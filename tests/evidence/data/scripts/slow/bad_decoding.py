"""Loaders without workers whose data sets decode a file for each sample."""

import torchaudio
from PIL import Image
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from torchvision.datasets import ImageFolder


class Photos(Dataset):
    def __init__(self, files, transform):
        self.files, self.transform = files, transform

    def __len__(self):
        return len(self.files)

    def _open(self, path):
        return Image.open(path).convert("RGB")

    def __getitem__(self, i):
        return self.transform(self._open(self.files[i]))


class Calls(Dataset):
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return torchaudio.load(self.files[i])[0]


class Trainer:
    def __init__(self, model, files, transform):
        self.model = DistributedDataParallel(model)
        self.data = Photos(files, transform)
        sampler = DistributedSampler(self.data)
        self.loader = DataLoader(self.data, 64, sampler=sampler)  # distkb: script.decoded-by-rank


def loaders(root, files, transform):
    images = ImageFolder(root, transform)
    first = DataLoader(images, 64, num_workers=0, shuffle=True)  # distkb: script.decoded-by-rank
    second = DataLoader(Calls(files), batch_size=8, shuffle=True)  # distkb: script.decoded-by-rank
    return first, second
