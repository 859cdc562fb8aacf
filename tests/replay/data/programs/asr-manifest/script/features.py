"""Synthetic speech-command clips -> log-mel-like features, one line per clip in the manifest."""
import json
import math
import random
from pathlib import Path

import torch

WORDS = ["yes", "no", "stop", "go", "left", "right"]
N_BANDS, N_FRAMES = 8, 10


def clip_feature(word, rng):
    k = WORDS.index(word)
    out = []
    for t in range(N_FRAMES):
        row = []
        for b in range(N_BANDS):
            v = math.sin(0.4 * (k + 1) * t + 0.7 * b) + 0.5 * math.cos(0.3 * k * b) + rng.gauss(0, 0.6)
            row.append(round(v, 4))
        out.append(row)
    return out


def write_manifest(path, n_clips, seed):
    """Extract features for all clips and write them as JSON lines."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = random.Random(seed)
    with open(path, "w") as fh:
        for i in range(n_clips):
            word = rng.choice(WORDS)
            rec = {"id": f"clip{i:05d}", "word": word, "feat": clip_feature(word, rng)}
            fh.write(json.dumps(rec) + "\n")


class ManifestDataset(torch.utils.data.Dataset):
    def __init__(self, path):
        self.items = []
        with open(path) as fh:
            for line in fh:
                try:
                    rec = json.loads(line)
                except json.JSONDecodeError:
                    continue  # some old manifests have a damaged line
                self.items.append((torch.tensor(rec["feat"]), WORDS.index(rec["word"])))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]
