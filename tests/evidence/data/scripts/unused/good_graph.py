"""A frozen encoder runs without a graph."""

import torch, os
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import loader, Enc, Dec


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = Enc(), Dec()
        self.enc.requires_grad_(False)

    def forward(self, x):
        with torch.no_grad():
            z = self.enc(x)
        return self.dec(z)


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
net = DDP(Model().cuda())
opt = torch.optim.Adam(net.parameters())
for x in loader():
    loss = nn.functional.mse_loss(net(x.cuda()), x.cuda())
    opt.zero_grad()
    loss.backward()
    opt.step()
