"""One head of many in each step."""

import torch, os
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import loader


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 64), nn.ReLU())
        self.heads = nn.ModuleDict({t: nn.Linear(64, 1) for t in ("a", "b", "c")})

    def forward(self, x, task):
        return self.heads[task](self.body(x))  # distkb: script.part-picked-by-batch


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
net = DDP(MultiTask().cuda())
opt = torch.optim.Adam(net.parameters())
for task, x, y in loader():
    loss = nn.functional.mse_loss(net(x.cuda(), task), y.cuda())
    opt.zero_grad()
    loss.backward()
    opt.step()
