"""The script starts its ranks itself, so rank 0 opens the address."""

import torch.distributed as dist
import torch.multiprocessing as mp

PORT = 29611


def worker(rank, world):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{PORT}", rank=rank, world_size=world)
    store = dist.TCPStore("127.0.0.1", PORT + 1, world, rank == 0)
    store.set("ready", "1")
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(worker, args=(2,), nprocs=2)
