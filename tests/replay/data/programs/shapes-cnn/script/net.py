import torch.nn as nn


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o, momentum=0.02), nn.ReLU(), nn.MaxPool2d(2))


class ShapeNet(nn.Module):
    def __init__(self, width=12, classes=4):
        super().__init__()
        self.body = nn.Sequential(block(1, width), block(width, 2 * width), block(2 * width, 2 * width))
        self.head = nn.Linear(2 * width * 4, classes)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))
