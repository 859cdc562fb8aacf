import glob
import os

import torch

from common import TwoTower
from fit import DIM, ITEMS, USERS, clicks

path = sorted(glob.glob("ckpt/step*.pt"))[-1]
print(f"scoring {path} ({os.path.getsize(path) / 2**20:.1f} MiB)")
model = TwoTower(USERS, ITEMS, DIM)
ckpt = torch.load(path)
model.load_state_dict(ckpt["model"])
u, i, y = clicks(torch.Generator().manual_seed(9), 20000)
with torch.no_grad():
    p = model(u, i).sigmoid()
print(f"step {ckpt['step']}: mean score {p.mean():.3f}, base rate {y.mean():.3f}")
