"""Frame encoder for spoken digits; words are matched to templates after every epoch."""
import os
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from spectral import dtw_distance

RANK = int(os.environ["RANK"])
WORLD = int(os.environ["WORLD_SIZE"])
BANDS, DIGITS, FRAMES = 40, 10, 50
EPOCHS = int(os.environ.get("EPOCHS", 4))


def say(msg):
    print(f"{time.strftime('%H:%M:%S')} {msg}", flush=True)


def corpus(n, seed):
    """Log-mel frames of n words: every digit has a path of formants, spoken at its own speed."""
    rng = np.random.default_rng(seed)
    shapes = np.random.default_rng(0).normal(size=(DIGITS, 6, BANDS))
    words, labels = [], []
    for _ in range(n):
        d = int(rng.integers(DIGITS))
        pos = np.sort(rng.uniform(0, 5, FRAMES))
        lo = pos.astype(int)
        w = (pos - lo)[:, None]
        spec = shapes[d][lo] * (1 - w) + shapes[d][np.minimum(lo + 1, 5)] * w
        words.append(spec + rng.normal(scale=1.2, size=spec.shape))
        labels.append(d)
    return torch.tensor(np.array(words), dtype=torch.float32), torch.tensor(labels)


class Encoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(BANDS, 48, 5, padding=2), nn.ReLU(), nn.Conv1d(48, dim, 3, padding=1))
        self.cls = nn.Linear(dim, DIGITS)

    def embed(self, x):
        return self.conv(x.transpose(1, 2)).transpose(1, 2)

    def forward(self, x):
        return self.cls(F.relu(self.embed(x)).mean(1))


@torch.no_grad()
def template_accuracy(enc, tmpl, tmpl_y, val, val_y):
    t = enc.embed(tmpl).contiguous().numpy()
    v = enc.embed(val).contiguous().numpy()
    right = 0
    for x, y in zip(v, val_y.tolist()):
        best = min(range(len(t)), key=lambda i: dtw_distance(x, t[i]))
        right += int(tmpl_y[best]) == y
    return right / len(v)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    x, y = corpus(1600, seed=1)
    x, y = x[RANK::WORLD], y[RANK::WORLD]
    tmpl, tmpl_y = corpus(30, seed=2)
    val, val_y = corpus(100, seed=3)
    say(f"rank {RANK}/{WORLD} on {os.uname().nodename}: {len(x)} words")

    model = DDP(Encoder())
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    best = torch.zeros(1)
    for epoch in range(EPOCHS):
        perm = torch.randperm(len(x))
        losses = []
        for idx in perm.split(40):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        say(f"epoch {epoch} loss {np.mean(losses):.4f}")

        acc = torch.zeros(1)
        if RANK == 0:
            acc[0] = template_accuracy(model.module.eval(), tmpl, tmpl_y, val, val_y)
            model.train()
            say(f"epoch {epoch} template accuracy {acc.item():.3f}")
        dist.broadcast(acc, 0)
        if acc > best:
            best = acc
            if RANK == 0:
                torch.save(model.module.state_dict(), "encoder.pt")
    say(f"done, best {best.item():.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
