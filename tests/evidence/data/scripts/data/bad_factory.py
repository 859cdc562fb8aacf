"""A factory makes the sampler, and the loop counts epochs."""

from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def get_loaders(train_set, val_set, args, distributed):
    train_sampler = DistributedSampler(train_set) if distributed else None  # distkb: script.no-set-epoch
    val_sampler = DistributedSampler(val_set, shuffle=False) if distributed else None
    train = DataLoader(train_set, batch_size=args.bs, shuffle=train_sampler is None, sampler=train_sampler)
    val = DataLoader(val_set, batch_size=args.bs, sampler=val_sampler)
    return train, val

import argparse
import torch
import torch.distributed as dist
from torchvision import datasets, models, transforms
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bs", type=int, default=64)
    p.add_argument("--epochs", type=int, default=90)
    args = p.parse_args()
    dist.init_process_group("nccl")
    local = dist.get_rank() % torch.cuda.device_count()
    torch.cuda.set_device(local)
    tf = transforms.ToTensor()
    train, val = get_loaders(datasets.CIFAR10("d", transform=tf), datasets.CIFAR10("d", train=False, transform=tf), args, dist.is_initialized())
    net = DDP(models.resnet18().cuda(local), device_ids=[local])
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    epoch = 0
    while epoch < args.epochs:
        for img, lab in train:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(img.cuda(local)), lab.cuda(local)).backward()
            opt.step()
        epoch += 1


main()
