"""Classes in an order that is the same everywhere."""

import os
from pathlib import Path

import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def classes(root):
    return {name: index for index, name in enumerate(sorted(os.listdir(root)))}


def sorted_in_place(root):
    names = [folder.name for folder in Path(root).iterdir()]
    names.sort()
    return {name: index for index, name in enumerate(names)}


def sizes(root):
    return {path.name: path.stat().st_size for path in Path(root).iterdir()}


def main(root):
    return DDP(torch.nn.Linear(4, len(classes(root)))), sorted_in_place(root), sizes(root)
