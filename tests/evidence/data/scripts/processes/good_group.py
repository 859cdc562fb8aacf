"""The ranks join a group."""

import os
import torch
from torch.utils.data import DataLoader, DistributedSampler
from lib import Net, Data

rank = int(os.environ["RANK"])
world = int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.distributed.init_process_group("nccl")
ds = Data()
dl = DataLoader(ds, 32, sampler=DistributedSampler(ds, world, rank))
m = torch.nn.parallel.DistributedDataParallel(Net().cuda())
o = torch.optim.SGD(m.parameters(), 0.1)
for ep in range(5):
    dl.sampler.set_epoch(ep)
    for x, y in dl:
        o.zero_grad()
        torch.nn.functional.cross_entropy(m(x.cuda()), y.cuda()).backward()
        o.step()
    if rank == 0:
        torch.save(m.state_dict(), "m.pt")
