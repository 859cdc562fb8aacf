"""A plateau by what every rank measures on the whole data: the number is the same everywhere."""

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, DistributedSampler


def fit(net, train, held_out):
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = ReduceLROnPlateau(optimizer, patience=1)
    train_loader = DataLoader(train, sampler=DistributedSampler(train))
    val_loader = DataLoader(held_out, batch_size=8)
    for epoch in range(10):
        train_loader.sampler.set_epoch(epoch)
        for batch in train_loader:
            model(batch).sum().backward()
            optimizer.step()
        scheduler.step(sum(model(batch).sum().item() for batch in val_loader))
