"""The place of a process is kept in an object, whose property makes the device of the wrong number."""

import os
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


@dataclass
class Place:
    number: int
    on_node: int
    total: int = 1

    @classmethod
    def of_launcher(cls):
        read = os.environ
        return cls(int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"]), total=int(read["WORLD_SIZE"]))

    @property
    def gpu(self):
        return torch.device("cuda", index=self.number)  # distkb: script.device-from-global-rank


class Seat(NamedTuple):
    row: int = 0
    column: int = 0


def seat():
    return Seat(row=dist.get_rank(), column=int(os.environ["LOCAL_RANK"]))


def number_of():
    return dist.get_rank() if dist.is_initialized() else 0


def begin():
    dist.init_process_group("nccl")
    mine = seat()
    torch.cuda.set_device("cuda:%d" % mine.row)  # distkb: script.device-from-global-rank


def wrap(model):
    return DistributedDataParallel(model, device_ids=[number_of()])  # distkb: script.device-from-global-rank


class Session:
    def __init__(self, place):
        self.place = place

    def move(self, batch):
        return batch.to(device=self.place.number)  # distkb: script.device-from-global-rank


def main():
    begin()
    place = Place.of_launcher()
    return Session(place), place.gpu
