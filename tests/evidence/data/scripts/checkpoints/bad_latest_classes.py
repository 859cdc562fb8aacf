"""The newest checkpoint by letters, where the names are put together elsewhere."""

import os
from pathlib import Path

import torch
from accelerate import Accelerator

accelerator = Accelerator()


class Store:
    def __init__(self, run_dir):
        self.dir = Path(run_dir) / "checkpoints"

    def path_of(self, step):
        return self.dir / f"ckpt-{step}.pt"

    def save(self, state, step):
        torch.save(state, self.path_of(step))

    def every(self):
        return sorted(self.dir.glob("ckpt-*.pt"))

    def latest(self):
        found = self.every()
        return found[-1] if found else None  # distkb: script.checkpoints-sorted-as-text

    def newest(self):
        return sorted(self.dir.glob("ckpt-*.pt"), key=lambda path: path.name, reverse=True)[0]  # distkb: script.checkpoints-sorted-as-text


def write(state, folder, epoch):
    path = os.path.join(folder, f"epoch{epoch}.pth")
    torch.save(state, path + ".tmp")
    os.replace(path + ".tmp", path)


def resume(folder):
    names = [name for name in os.listdir(folder) if name.startswith("epoch")]
    names = sorted(names, key=str)
    return torch.load(names[-1])  # distkb: script.checkpoints-sorted-as-text


def take(folder):
    names = os.listdir(folder)
    names.sort(reverse=True)
    return names[0]  # distkb: script.checkpoints-sorted-as-text


def save_state(step):
    accelerator.save_state(f"out/step_{step}")


def load_state():
    folders = [entry.path for entry in os.scandir("out") if entry.is_dir()]
    accelerator.load_state(sorted(folders)[-1])  # distkb: script.checkpoints-sorted-as-text


def last(folder):
    return next(reversed(sorted(Path(folder).iterdir())))  # distkb: script.checkpoints-sorted-as-text


def popped(folder):
    found = sorted(Path(folder).glob("epoch*.pth"))
    return found.pop()  # distkb: script.checkpoints-sorted-as-text
