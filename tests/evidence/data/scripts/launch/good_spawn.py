import os

import torch.multiprocessing as mp


def worker(rank, size):
    os.environ["RANK"] = str(rank)
    return os.environ["RANK"], size


def launched():
    return os.environ.get("LOCAL_RANK")


if __name__ == "__main__":
    mp.spawn(worker, args=(2,), nprocs=2)
