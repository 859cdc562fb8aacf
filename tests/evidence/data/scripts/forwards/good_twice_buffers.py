"""DDP that leaves the buffers as they are."""

from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(x)


def siamese(loader, rank):
    model = DDP(Net().to(rank), device_ids=[rank], broadcast_buffers=False)
    for left, right in loader:
        (model(left) - model(right)).pow(2).mean().backward()
