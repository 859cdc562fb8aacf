from torch import nn


class Spotter(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(cfg.mels, cfg.width, 5, padding=2), nn.ReLU(),
                                  nn.Conv1d(cfg.width, cfg.width, 5, padding=2), nn.ReLU())
        self.out = nn.Linear(cfg.width, cfg.words)

    def forward(self, x):
        return self.out(self.conv(x).mean(-1))
