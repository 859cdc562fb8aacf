from torch import nn


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(), nn.MaxPool2d(2))


class LeafNet(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.body = nn.Sequential(block(3, width), block(width, 2 * width), block(2 * width, 4 * width))
        self.head = nn.Linear(4 * width, classes)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))
