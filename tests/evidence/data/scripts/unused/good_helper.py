"""A helper freezes before."""

import torch, os
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import loader, Net


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad_(flag)


class Trainer:
    def __init__(self):
        net = Net().cuda()
        set_trainable(net.backbone, False)
        self.model = DDP(net)
        self.opt = torch.optim.AdamW(self.model.parameters(), 1e-4)

    def fit(self, epochs):
        for e in range(epochs):
            for x, y in loader(e):
                loss = torch.nn.functional.cross_entropy(self.model(x.cuda()), y.cuda())
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
Trainer().fit(20)
