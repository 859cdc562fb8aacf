from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def main(dataset, model, epochs):
    train_sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=train_sampler)
    for epoch in range(epochs):
        train_sampler.set_epoch(epoch)
        for batch in loader:
            model(batch)
