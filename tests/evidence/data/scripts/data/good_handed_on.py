from elsewhere import train
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def main(dataset, epochs):
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler)
    for epoch in range(epochs):
        train(loader, epoch, sampler=sampler)


def one_epoch(dataset, model):
    other = DistributedSampler(dataset, shuffle=False)
    for batch in DataLoader(dataset, sampler=other):
        model(batch)
