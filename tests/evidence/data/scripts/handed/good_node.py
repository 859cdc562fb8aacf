"""The first rank of all saves."""

import torch, os
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import Net, batches, Config

cfg = Config()
local_rank = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
is_master = dist.get_rank() == 0
torch.cuda.set_device(local_rank)
model = DDP(Net().cuda())
opt = torch.optim.SGD(model.parameters(), 0.1)
for step, b in enumerate(batches()):
    model(b).backward()
    opt.step()
    opt.zero_grad()
    if is_master and step % cfg.save_every == 0:
        torch.save(model.module.state_dict(), "/shared/run/last.pt")
