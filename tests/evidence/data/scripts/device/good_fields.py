"""The object holds both numbers, and the device is made of the one within the node."""

import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


@dataclass
class Place:
    number: int
    on_node: int
    gpu_number: int = 0

    @classmethod
    def of_launcher(cls):
        number = int(os.environ["RANK"])
        return cls(number, int(os.environ["LOCAL_RANK"]), number % torch.cuda.device_count())

    @property
    def gpu(self):
        return torch.device("cuda", index=self.on_node)

    @property
    def other(self):
        return torch.device("cuda", self.gpu_number)


class Session:
    def __init__(self, number, folder):
        self.number, self.folder = number, folder

    def move(self, batch):
        return batch.to(self.number)


def join():
    dist.init_process_group("nccl")
    return dist.get_rank(), int(os.environ["LOCAL_RANK"])


def on_gpu(net, number):
    torch.cuda.set_device(number)
    return DistributedDataParallel(net.cuda(), device_ids=[number])


def main(net, one_node):
    number, local = join()
    index = number
    if not one_node:
        index = local
    session = Session(index, f"rank{number}")
    return on_gpu(net, local), session, Place.of_launcher().gpu
