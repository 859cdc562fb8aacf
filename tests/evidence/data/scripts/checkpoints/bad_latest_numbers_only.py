"""Folders and files whose whole name is the number."""

import os
import pathlib

import torch


class Saver:
    def __init__(self, root):
        self.root = root

    def write(self, model, global_step):
        folder = os.path.join(self.root, str(global_step))
        os.makedirs(folder, exist_ok=True)
        torch.save(model.state_dict(), f"{self.root}/{global_step}/model.pt")

    def newest(self):
        return max(os.listdir(self.root))  # distkb: script.checkpoints-sorted-as-text


def keep(model, epoch):
    torch.save(model.state_dict(), f"weights/{epoch}.pt")


def best(folder):
    return sorted(pathlib.Path(folder).glob("*.pt"), reverse=False)[-1]  # distkb: script.checkpoints-sorted-as-text
