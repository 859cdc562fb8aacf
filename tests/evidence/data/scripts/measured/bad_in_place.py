import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


def make_loader(dataset: Dataset, batch_size: int) -> DataLoader:
    return DataLoader(dataset, batch_size, sampler=DistributedSampler(dataset))


def train_epoch(model, loader, optimizer):
    running = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item() * x.size(0)
    running /= len(loader.dataset)  # distkb: script.share-divided-by-whole
    return running


def main(dataset):
    dist.init_process_group("gloo")
    loader = make_loader(dataset, 16)
    model = DDP(torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(5):
        loader.sampler.set_epoch(epoch)
        print(epoch, train_epoch(model, loader, optimizer))
    dist.destroy_process_group()
