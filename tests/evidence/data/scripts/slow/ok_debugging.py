"""Debugging on wish, and memory given back where it is due."""

import argparse

import torch
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--debug", action="store_true")
args = parser.parse_args()
torch.autograd.set_detect_anomaly(args.debug)
if args.debug:
    torch.autograd.set_detect_anomaly(True)


def train(net, loader, val_loader, optimizer, gpu):
    model = DistributedDataParallel(net, device_ids=[gpu])
    for _ in range(10):
        for i, x in enumerate(loader):
            model(x.cuda()).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            if i % 1000 == 0:
                torch.cuda.empty_cache()
        with torch.no_grad():
            for x in val_loader:
                model(x.cuda())
        torch.cuda.empty_cache()
