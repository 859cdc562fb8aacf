import torch
import torch.nn as nn
import torch.nn.functional as F


class Conv(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = nn.Linear(d, d)
        self.b = nn.Linear(d, d)

    def forward(self, adj, h):
        return self.b(F.relu(self.a(torch.bmm(adj, h))))


class MolNet(nn.Module):
    def __init__(self, d=48, depth=4, n_feat=9):
        super().__init__()
        self.inp = nn.Linear(n_feat, d)
        self.convs = nn.ModuleList(Conv(d) for _ in range(depth))
        self.norm = nn.LayerNorm(d)
        self.head = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 1))

    def forward(self, adj, feat, mask):
        h = self.inp(feat)
        for c in self.convs:
            h = h + c(adj, F.relu(h))
        stat = h.detach().float().abs().amax()
        h = self.norm(h.float()) * mask[..., None]
        pooled = h.sum(1) / mask.sum(1, keepdim=True)
        return self.head(pooled).squeeze(-1), stat
