import os

import torch.multiprocessing as mp


def worker(index):
    return int(os.environ["LOCAL_RANK"]) + index


if __name__ == "__main__":
    mp.spawn(worker, nprocs=2)  # distkb: script.spawn-and-launcher
