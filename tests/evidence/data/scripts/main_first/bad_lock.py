"""Collectives behind a door that ranks pass one after the other."""

import torch.distributed as dist
from accelerate import Accelerator
from filelock import FileLock


class Blocks:
    def __init__(self, path):
        self.path = path
        self.count = self.agreed()

    def agreed(self):
        dist.barrier()
        return len(self.path)


def load(path):
    with FileLock(path + ".lock"):
        return Blocks(path)  # distkb: script.collective-under-lock


def features(accelerator, path):
    if not path.exists():  # distkb: script.decided-by-own-files
        path.write_text("made")
        accelerator.wait_for_everyone()
    return path.read_text()


def main(path):
    accelerator = Accelerator()
    with accelerator.main_process_first():
        found = features(accelerator, path)  # distkb: script.collective-in-main-first
    return found, load(path)
