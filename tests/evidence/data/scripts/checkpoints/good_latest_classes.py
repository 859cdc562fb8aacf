"""Orders that are right: padded where the name is made, keys that read the number, other families of names."""

import os
import re
import time
from pathlib import Path

import torch

PATTERN = re.compile(r"ckpt-(\d+)")


def number(path):
    return int(PATTERN.search(path.name)[1])


class Store:
    def __init__(self, run_dir):
        self.dir = Path(run_dir) / "checkpoints"

    def path_of(self, step):
        return self.dir / f"ckpt-{step}.pt"

    def save(self, state, step):
        torch.save(state, self.path_of(step))
        (self.dir / "latest").write_text(self.path_of(step).name)

    def every(self):
        return sorted(self.dir.glob("ckpt-*.pt"), key=number)

    def latest(self):
        found = self.every()
        return found[-1] if found else None

    def newest(self):
        return sorted(self.dir.glob("ckpt-*.pt"), key=os.path.getmtime, reverse=True)[0]

    def oldest(self):
        return sorted(self.dir.glob("ckpt-*.pt"))[0]

    def highest(self):
        return max(map(number, self.dir.glob("ckpt-*.pt")))

    def last_log(self):
        return sorted(self.dir.glob("*.log"))[-1]

    def last_part(self):
        return sorted(self.dir.glob("part-*.pt"))[-1]


def pairs(folder):
    return sorted((number(path), path) for path in Path(folder).glob("ckpt-*.pt"))[-1]
