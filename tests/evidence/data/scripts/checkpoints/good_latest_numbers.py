"""Bare numbers in names, and orders that turn them into numbers first."""

import os
from pathlib import Path

import torch


def save(model, epoch, folder):
    torch.save(model.state_dict(), f"{folder}/epoch_{epoch}.pt")


def latest(folder):
    found = sorted(int(path.stem.split("_")[1]) for path in Path(folder).glob("epoch_*.pt"))
    return f"{folder}/epoch_{found[-1]}.pt"


def by_length(folder):
    return sorted(os.listdir(folder), key=lambda name: (len(name), name))[-1]


def newest_log(folder):
    return sorted(Path(folder).glob("log_*.txt"))[-1]
