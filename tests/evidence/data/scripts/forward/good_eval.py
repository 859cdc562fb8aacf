import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def main(net, loader):
    model = DDP(net)
    model(loader)
    if dist.get_rank() == 0:
        model.eval()
        model.module(loader)
        raw = model.module
        raw(loader)
        net(loader)
