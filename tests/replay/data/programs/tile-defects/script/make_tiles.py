"""Writes the tile shards: one file per camera recording."""
import os
import sys

import numpy as np

rng = np.random.default_rng(11)
PATTERNS = rng.normal(0, 1, (6, 16, 16)).astype("float32")


def recording(n, gain, offset):
    y = rng.integers(0, 6, n)
    x = PATTERNS[y] * rng.uniform(0.5, 1.0, (n, 1, 1)) + rng.normal(0, 2.2, (n, 16, 16))
    return (x * gain + offset).astype("float32")[:, None], y.astype("int64")


out = sys.argv[1]
os.makedirs(out, exist_ok=True)
for i in range(4):
    gain, offset = (1.0, 0.0) if i % 2 == 0 else (2.4, 3.0)
    x, y = recording(400, gain, offset)
    np.savez(f"{out}/train-{i:03d}.npz", x=x, y=y)
parts = [recording(200, 1.0, 0.0), recording(200, 2.4, 3.0)]
np.savez(f"{out}/valid.npz", x=np.concatenate([p[0] for p in parts]), y=np.concatenate([p[1] for p in parts]))
print("wrote 4 training shards and valid.npz to", out)
