"""Statistics of each rank, by a dictionary of settings."""

import torch, os
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from timm import create_model
from lib import tl, vl, Config


def main(cfg):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    kwargs = dict(device_ids=[int(os.environ["LOCAL_RANK"])], broadcast_buffers=False)
    net = DDP(create_model("efficientnet_b0").cuda(), **kwargs)  # distkb: script.statistics-of-each-rank
    opt = torch.optim.SGD(net.parameters(), cfg.lr)
    for e in range(cfg.epochs):
        for x, y in tl(e):
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            acc = sum((net(x.cuda()).argmax(1) == y.cuda()).float().mean() for x, y in vl())
        net.train()


main(Config())
