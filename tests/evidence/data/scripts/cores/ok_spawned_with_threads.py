import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29613", rank=rank, world_size=2)
    torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
