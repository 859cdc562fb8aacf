import torch
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def main(dataset, model, epochs):
    train_sampler = DistributedSampler(dataset)  # distkb: script.no-set-epoch
    test_sampler = DistributedSampler(dataset, shuffle=False)
    loader = DataLoader(dataset, sampler=train_sampler)
    for epoch in range(epochs):
        for batch in loader:
            model(batch)
    return test_sampler
