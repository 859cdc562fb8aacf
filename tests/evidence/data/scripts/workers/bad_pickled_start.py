"""A start method for all processes, that of the loader's workers too."""

import torch.multiprocessing as mp
from torch.utils.data import DataLoader, IterableDataset


class Lines(IterableDataset):
    def __init__(self, path):
        super().__init__()
        self.path = path
        self.stream = self.read()  # distkb: script.dataset-not-picklable

    def read(self):
        with open(self.path) as lines:
            yield from lines

    def __iter__(self):
        return self.stream


class Loaders:
    def __init__(self, path, workers):
        def pack(rows):
            return rows[:workers]

        self.data = Lines(path)
        self.train = DataLoader(
            self.data,
            num_workers=workers,
            collate_fn=pack,  # distkb: script.dataset-not-picklable
        )


if __name__ == "__main__":
    mp.set_start_method("forkserver")
    Loaders("lines.txt", 2)
