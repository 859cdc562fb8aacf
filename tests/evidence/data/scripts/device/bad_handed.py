"""The number goes through a helper's tuple and an argument."""

import os

import torch
import torch.distributed as dist


def join():
    dist.init_process_group("nccl")
    return dist.get_rank(), dist.get_world_size(), int(os.environ["LOCAL_RANK"])


def on_gpu(net, number):
    torch.cuda.set_device(number)  # distkb: script.device-from-global-rank
    return net.cuda()


def main(net):
    index, count, local = join()
    return on_gpu(net, index), count, local
