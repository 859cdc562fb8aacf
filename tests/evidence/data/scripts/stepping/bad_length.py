"""All samples by the batch of one rank."""

import torch, os
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import Net, Data

EPOCHS, BS = 30, 64
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
ds = Data()
s = DistributedSampler(ds)
dl = DataLoader(ds, BS, sampler=s)
m = DDP(Net().cuda())
o = torch.optim.SGD(m.parameters(), lr=0.1)
total = EPOCHS * len(ds) // BS
sched = torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=total)
for ep in range(EPOCHS):
    s.set_epoch(ep)
    for x, y in dl:
        o.zero_grad()
        torch.nn.functional.cross_entropy(m(x.cuda()), y.cuda()).backward()
        o.step()
        sched.step()  # distkb: script.schedule-of-whole-length
