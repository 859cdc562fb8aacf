import torch
import torch.nn as nn
import torch.nn.functional as F


class DriveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU())
        self.steer = nn.Linear(96, 1)
        self.dist = nn.Linear(96, 1)
        self.lane = nn.Linear(96, 3)

    def forward(self, x):
        h = self.body(x)
        return self.steer(h)[:, 0], self.dist(h)[:, 0], self.lane(h)


class TaskBalance(nn.Module):
    """Kendall et al.: every task has its own log variance, learned with the rest."""

    names = ("steer", "dist", "lane")

    def __init__(self):
        super().__init__()
        self.log_var = nn.Parameter(torch.zeros(3))

    def forward(self, outputs, targets):
        s, d, l = outputs
        ts, td, tl = targets
        parts = torch.stack([F.mse_loss(s, ts), F.mse_loss(d, td), F.cross_entropy(l, tl)])
        total = (torch.exp(-self.log_var) * parts + 0.5 * self.log_var).sum()
        return total, parts.detach()

    def weights(self):
        return {n: round(v, 4) for n, v in zip(self.names, torch.exp(-self.log_var).tolist())}
