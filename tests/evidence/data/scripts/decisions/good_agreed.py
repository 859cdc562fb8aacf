"""A measure of all ranks."""

import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from data import make_sets
from model import build_model


class Patience:
    def __init__(self, limit):
        self.limit, self.best, self.bad = limit, float("inf"), 0

    def update(self, value):
        if value < self.best:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        return self.bad >= self.limit


@torch.no_grad()
def evaluate(model, loader, device):
    sums = torch.zeros(2, device=device)
    for x, y in loader:
        sums[0] += F.cross_entropy(model(x.to(device)), y.to(device), reduction="sum")
        sums[1] += y.numel()
    dist.all_reduce(sums)
    return (sums[0] / sums[1]).item()


def main():
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank)
    train_set, val_set = make_sets()
    sampler = DistributedSampler(train_set)
    train = DataLoader(train_set, batch_size=32, sampler=sampler)
    val = DataLoader(
        val_set, batch_size=32, sampler=DistributedSampler(val_set, shuffle=False)
    )
    model = DDP(build_model().to(device), device_ids=[local_rank])
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
    stopper = Patience(limit=3)
    for epoch in range(50):
        sampler.set_epoch(epoch)
        for x, y in train:
            opt.zero_grad()
            F.cross_entropy(model(x.to(device)), y.to(device)).backward()
            opt.step()
        if stopper.update(evaluate(model, val, device)):
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
