"""A frozen backbone is wrapped."""

import torch, os
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torchvision.models import resnet50
from lib import loader


class Frozen:
    def __init__(self):
        self.backbone = resnet50(weights="DEFAULT").cuda().eval()
        for p in self.backbone.parameters():
            p.requires_grad = False
        self.backbone = DDP(self.backbone)  # distkb: script.frozen-model-wrapped
        self.head = DDP(torch.nn.Linear(1000, 10).cuda())
        self.opt = torch.optim.SGD(self.head.parameters(), 0.1)

    def step(self, x, y):
        loss = torch.nn.functional.cross_entropy(self.head(self.backbone(x)), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
f = Frozen()
for x, y in loader():
    f.step(x.cuda(), y.cuda())
