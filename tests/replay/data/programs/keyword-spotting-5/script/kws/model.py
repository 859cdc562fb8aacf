from torch import nn


class TinyTCN(nn.Module):
    def __init__(self, bins=65, width=48, classes=8):
        super().__init__()
        layers, c = [], bins
        for d in (1, 2, 4, 8):
            layers += [nn.Conv1d(c, width, 3, padding=d, dilation=d), nn.BatchNorm1d(width), nn.ReLU()]
            c = width
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.body(x).mean(-1))
