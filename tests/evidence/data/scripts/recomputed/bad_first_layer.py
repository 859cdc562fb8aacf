import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils import checkpoint as cp


class Detector(nn.Module):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone
        self.neck = nn.Conv2d(256, 64, 1)
        self.head = nn.Conv2d(64, 5, 1)

    def features(self, images):
        with torch.no_grad():
            maps = self.backbone(images)
        return maps

    def forward(self, images):
        maps = self.features(images)
        maps = cp.checkpoint(self.neck, maps, use_reentrant=True)  # distkb: script.reentrant-without-grad
        return self.head(maps)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 7)
        self.head = nn.Conv2d(32, 5, 1)

    def forward(self, images):
        x = cp.checkpoint(self.stem, images, use_reentrant=True)  # distkb: script.reentrant-without-grad
        return self.head(x)


def main(loader, backbone):
    model = DDP(Detector(backbone))
    other = DDP(Classifier())
    for images, boxes in loader:
        (model(images) - boxes + other(images)).square().mean().backward()
