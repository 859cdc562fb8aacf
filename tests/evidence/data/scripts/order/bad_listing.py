"""Classes that are numbered as the file system lists them."""

import os
from pathlib import Path

import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def classes(root):
    return {name: index for index, name in enumerate(os.listdir(root))}  # distkb: script.numbered-by-listing


class Folders:
    def __init__(self, root):
        folders = [folder for folder in Path(root).iterdir() if folder.is_dir()]
        self.table = {folder.name: at for at, folder in enumerate(folders)}  # distkb: script.numbered-by-listing


def main(root):
    return DDP(torch.nn.Linear(4, len(classes(root)))), Folders(root)
