from concurrent.futures import ThreadPoolExecutor

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def share(values):
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, values)  # distkb: script.collective-in-thread
    return every


def train(net, loader, optimizer):
    model = DistributedDataParallel(net)
    pool = ThreadPoolExecutor(1)
    for x, y in loader:
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        pool.submit(share, [len(x)])
