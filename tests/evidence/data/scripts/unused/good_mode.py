"""The wrapper looks for what is left out."""

import torch, os
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import loader, Gen, Disc


class GAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.g, self.d = Gen(), Disc()

    def forward(self, x, z, mode):
        if mode == "d":
            return self.d(x).mean() - self.d(self.g(z).detach()).mean()
        return -self.d(self.g(z)).mean()


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
gan = DDP(GAN().cuda(), find_unused_parameters=True)
og = torch.optim.Adam(gan.module.g.parameters())
od = torch.optim.Adam(gan.module.d.parameters())
for x in loader():
    z = torch.randn(len(x), 128).cuda()
    od.zero_grad()
    gan(x.cuda(), z, "d").backward()
    od.step()
    og.zero_grad()
    gan(x.cuda(), z, "g").backward()
    og.step()
