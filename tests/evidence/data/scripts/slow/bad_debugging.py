"""A run in which what was meant for the search of a fault has been left on."""

import torch
from torch.nn.parallel import DistributedDataParallel


def train(net, loader, optimizer, gpu):
    torch.autograd.set_detect_anomaly(True)  # distkb: script.anomaly-left-on
    model = DistributedDataParallel(net, device_ids=[gpu])
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.empty_cache()  # distkb: script.cache-emptied-each-step
