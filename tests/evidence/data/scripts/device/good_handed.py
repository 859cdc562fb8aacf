"""The number within the node goes through a helper's tuple and an argument; the other one is changed before."""

import os

import torch
import torch.distributed as dist


def join():
    dist.init_process_group("nccl")
    return dist.get_rank(), int(os.environ["LOCAL_RANK"])


def on_gpu(net, number):
    torch.cuda.set_device(number)
    return net.cuda()


def main(net, per_node):
    index, local = join()
    slot = index
    slot %= per_node
    torch.cuda.set_device(slot)
    return on_gpu(net, local)
