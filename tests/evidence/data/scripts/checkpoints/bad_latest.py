"""The newest checkpoint by the order of letters, in four styles."""

import glob
import os
from pathlib import Path

import torch


def save(model, step, folder):
    torch.save(model.state_dict(), f"{folder}/step_{step}.pt")


def latest(folder):
    return sorted(glob.glob(f"{folder}/step_*.pt"))[-1]  # distkb: script.checkpoints-sorted-as-text


def newest(folder):
    return max(glob.glob(os.path.join(folder, "*.pt")))  # distkb: script.checkpoints-sorted-as-text


class Store:
    def __init__(self, folder):
        self.folder = Path(folder)

    def last(self):
        names = sorted(name for name in os.listdir(self.folder) if name.endswith(".pt"))
        return names[-1]  # distkb: script.checkpoints-sorted-as-text
