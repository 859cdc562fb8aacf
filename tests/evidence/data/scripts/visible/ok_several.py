"""A parent shows all of its ranks the same GPUs before it starts them."""

import os

import torch
import torch.distributed as dist


def main(rank):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=2)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ["CUDA_VISIBLE_DEVICES"] = "4,5"
    torch.multiprocessing.spawn(main, nprocs=2)
