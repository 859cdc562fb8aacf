"""Synced statistics."""

import torch, os
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler
from torch.nn.parallel import DistributedDataParallel as DDP
from torchvision.models.segmentation import deeplabv3_resnet101
from lib import City

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
ds = City()
s = DistributedSampler(ds)
dl = DataLoader(ds, batch_size=2, sampler=s)
net = DDP(nn.SyncBatchNorm.convert_sync_batchnorm(deeplabv3_resnet101(num_classes=19)).cuda())
opt = torch.optim.SGD(net.parameters(), 0.01)
for ep in range(80):
    s.set_epoch(ep)
    for x, y in dl:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x.cuda())["out"], y.cuda()).backward()
        opt.step()
