from torch import nn


class LoadNet(nn.Sequential):
    def __init__(self, n_in=6, width=48):
        super().__init__(nn.Linear(n_in, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))
