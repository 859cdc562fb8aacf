"""A return from the loop over epochs."""

import os

import torch
import torch.distributed as dist
from lib import Net, train_loader, val_loader
from torch.nn.parallel import DistributedDataParallel as DDP


def fit(net, opt, max_epochs):
    history = []
    for epoch in range(max_epochs):
        for x, y in train_loader():
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
            opt.step()
        correct = total = 0
        with torch.no_grad():
            for x, y in val_loader():
                correct += (net(x.cuda()).argmax(1).cpu() == y).sum().item()
                total += len(y)
        history.append(correct / total)
        if len(history) > 3 and max(history[-3:]) < max(history):  # distkb: script.decided-by-own-measure
            return history
    return history


if __name__ == "__main__":
    dist.init_process_group("nccl")  # distkb: script.group-not-destroyed
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    net = DDP(Net().cuda())
    fit(net, torch.optim.SGD(net.parameters(), 0.1), 50)
    dist.barrier()
