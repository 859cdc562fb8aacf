from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


def main(dataset, validation, net):
    model = DDP(net)
    loader = DataLoader(dataset, batch_size=8, shuffle=True)  # distkb: script.no-distributed-sampler
    val_loader = DataLoader(validation, batch_size=8)
    for batch in loader:
        model(batch)
    return val_loader


def make_loader(dataset, training):
    return DataLoader(dataset, batch_size=8, shuffle=training)  # distkb: script.no-distributed-sampler


def train(dataset, net):
    model = DDP(net)
    for batch in make_loader(dataset, True):
        model(batch)
