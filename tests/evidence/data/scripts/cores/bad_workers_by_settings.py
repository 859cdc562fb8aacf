import os

from accelerate import Accelerator
from torch.utils.data import DataLoader


class Data:
    def __init__(self, rows):
        self.rows = rows
        self.workers = len(os.sched_getaffinity(0)) - 1

    def loader(self):
        return DataLoader(self.rows, batch_size=4, shuffle=True, num_workers=self.workers)  # distkb: script.workers-of-machine


def main(rows):
    accelerator = Accelerator()
    loader = accelerator.prepare(Data(rows).loader())
    for batch in loader:
        accelerator.print(batch)
