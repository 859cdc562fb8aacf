"""Synced statistics on the host."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from lib import loader, Backbone


def main():
    dist.init_process_group("gloo")
    net = nn.SyncBatchNorm.convert_sync_batchnorm(Backbone())  # distkb: script.synced-norm-on-cpu
    model = DDP(net)
    opt = torch.optim.SGD(model.parameters(), 0.1)
    for x, y in loader():
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()


main()
