import torch
from torch.distributed import all_reduce, barrier, get_world_size


def synchronize():
    if get_world_size() == 1:
        return
    barrier()


class Meter:
    def reduce(self):
        total = torch.zeros(1)
        all_reduce(total)
        return total
