import threading
import torch
from torch import nn


class TwoTower(nn.Module):
    def __init__(self, users, items, dim):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        nn.init.normal_(self.user.weight, std=0.05)
        nn.init.normal_(self.item.weight, std=0.05)
        self.mlp = nn.Sequential(nn.Linear(2 * dim, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, u, i):
        u, i = self.user(u), self.item(i)
        return (u * i).sum(-1) + self.mlp(torch.cat([u, i], -1)).squeeze(-1)


class Saver:
    """Writes checkpoints in the background so that the step does not wait for the disk."""

    def __init__(self):
        self.thread = None

    def save(self, payload, path):
        self.wait()
        payload = _clone(payload)
        self.thread = threading.Thread(target=torch.save, args=(payload, path), daemon=True)
        self.thread.start()

    def wait(self):
        if self.thread is not None:
            self.thread.join()


def _clone(x):
    if torch.is_tensor(x):
        return x.detach().clone()
    if isinstance(x, dict):
        return {k: _clone(v) for k, v in x.items()}
    if isinstance(x, list):
        return [_clone(v) for v in x]
    return x
