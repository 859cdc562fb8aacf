"""A start method that every worker sets again."""

import torch.multiprocessing as mp
from torch.utils.data import DataLoader

mp.set_start_method("spawn")  # distkb: script.start-method-set-again


def main(rows):
    return DataLoader(rows, num_workers=4)


if __name__ == "__main__":
    main([1, 2])
