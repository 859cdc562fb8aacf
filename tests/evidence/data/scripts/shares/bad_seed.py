"""A stream with one seed."""

import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import IterableDataset, DataLoader
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import Denoiser


class Synthetic(IterableDataset):
    def __init__(self, seed=1234):
        self.seed = seed

    def __iter__(self):
        rng = np.random.default_rng(self.seed)  # distkb: script.one-seed-for-all
        while True:
            yield torch.from_numpy(rng.normal(size=(3, 32, 32)).astype("float32"))


dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank() % 8)
loader = DataLoader(Synthetic(), batch_size=64)
model = DDP(Denoiser().cuda())
opt = torch.optim.Adam(model.parameters())
for i, x in enumerate(loader):
    if i == 10000:
        break
    loss = model(x.cuda())
    opt.zero_grad()
    loss.backward()
    opt.step()
