import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import random_split


def main(dataset, net):
    model = DistributedDataParallel(net)
    return model, random_split(dataset, [0.9, 0.1], generator=torch.Generator().manual_seed(0))
