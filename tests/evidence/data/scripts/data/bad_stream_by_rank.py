"""A stream of the rank's own files under a Trainer, which reads only the first process's."""

import os

from torch.utils.data import IterableDataset
from transformers import Trainer, TrainingArguments


class Lines(IterableDataset):
    def __init__(self, files):
        self.files = files

    def __iter__(self):
        for name in self.files:
            yield from open(name)


def main(model, files):
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    mine = files[rank::world]
    stream = Lines(mine)  # distkb: script.stream-by-rank
    Trainer(model=model, args=TrainingArguments("out", max_steps=100), train_dataset=stream).train()
