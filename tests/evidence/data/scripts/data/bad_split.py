from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import random_split


def main(dataset, net):
    model = DistributedDataParallel(net)
    train, val = random_split(dataset, [0.9, 0.1])  # distkb: script.split-without-seed
    return model, train, val
