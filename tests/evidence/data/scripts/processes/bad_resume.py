"""A state goes back to the GPU of rank 0."""

import torch, os
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import Net, loader


class Resume:
    def __init__(self, path):
        self.path = path

    def into(self, model, opt):
        if not os.path.exists(self.path):
            return 0
        ck = torch.load(self.path)  # distkb: script.loaded-where-saved
        model.load_state_dict(ck["model"])
        opt.load_state_dict(ck["opt"])
        return ck["step"]


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
net = Net().cuda()
opt = torch.optim.Adam(net.parameters())
start = Resume("/ck/last.pt").into(net, opt)
model = DDP(net)
for x in loader(start):
    opt.zero_grad()
    model(x.cuda()).backward()
    opt.step()
