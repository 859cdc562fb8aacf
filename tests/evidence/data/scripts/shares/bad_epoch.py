"""A sampler that waits for its epoch."""

import math
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Sampler
from torch.nn.parallel import DistributedDataParallel as DDP
from corpus import Corpus, build_model


class RankSampler(Sampler):
    def __init__(self, dataset, seed=0):
        self.n = len(dataset)
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        g = torch.Generator()
        g.manual_seed(self.seed + self.epoch)
        order = torch.randperm(self.n, generator=g).tolist()
        return iter(order[: self.n - self.n % self.world])

    def __len__(self):
        return self.n // self.world


dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank() % 8)
data = Corpus("train.bin")
loader = DataLoader(data, batch_size=16, sampler=RankSampler(data, seed=17))  # distkb: script.epoch-never-set
model = DDP(build_model().cuda())
opt = torch.optim.AdamW(model.parameters(), 3e-4)
for epoch in range(10):
    for batch in loader:
        loss = model(batch.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), f"ep{epoch}.pt")
