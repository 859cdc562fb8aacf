"""Join answers for ranks whose batches have ended."""

import torch
import torch.distributed as dist
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel


def train(model, batches):
    with Join([model]):
        for x in batches:
            loss = model(x).sum()
            loss.backward()


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    data = torch.randn(103, 4)
    train(DistributedDataParallel(torch.nn.Linear(4, 1)), data[rank::world])
