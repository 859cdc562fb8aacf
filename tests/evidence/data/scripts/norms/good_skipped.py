"""A mask head for every batch."""

import torch, os
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import loader, Roi


class Det(nn.Module):
    def __init__(self):
        super().__init__()
        self.rpn = Roi()
        self.mask = nn.Sequential(nn.Conv2d(256, 256, 3), nn.SyncBatchNorm(256), nn.ReLU())

    def forward(self, x):
        boxes, feats = self.rpn(x)
        out = {"boxes": boxes}
        out["mask"] = self.mask(feats) * float(boxes.numel() > 0)
        return out


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
m = DDP(Det().cuda(), find_unused_parameters=True)
opt = torch.optim.SGD(m.parameters(), 0.1)
for x in loader():
    out = m(x.cuda())
    opt.zero_grad()
    sum(v.sum() for v in out.values()).backward()
    opt.step()
