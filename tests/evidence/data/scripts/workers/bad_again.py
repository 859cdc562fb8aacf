"""The start method once more in each process."""

import torch.distributed as dist
import torch.multiprocessing as mp
from net import Data, Net
from torch.utils.data import DataLoader


def worker(rank, world):
    mp.set_start_method("spawn")  # distkb: script.start-method-set-again
    dist.init_process_group(  # distkb: script.group-not-destroyed
        "nccl", init_method="tcp://127.0.0.1:29500", rank=rank, world_size=world
    )
    for x in DataLoader(Data(), num_workers=2):
        Net()(x)


def main():
    mp.set_start_method("spawn")
    mp.spawn(worker, args=(2,), nprocs=2)


if __name__ == "__main__":
    main()
