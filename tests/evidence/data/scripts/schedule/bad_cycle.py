"""A cycle that is divided twice."""

import os

import torch
import torch.distributed as dist
from stuff import Data, make_model
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, DistributedSampler


def main(epochs=4, batch=16):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    data = Data()
    model = DDP(make_model().cuda())
    opt = torch.optim.AdamW(model.parameters(), 1e-4)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch, sampler=sampler)
    sched = OneCycleLR(  # distkb: script.cycle-too-short
        opt,
        max_lr=1e-3,
        epochs=epochs,
        steps_per_epoch=len(loader) // dist.get_world_size(),
    )
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for ids in loader:
            model(ids.cuda()).loss.backward()
            opt.step()
            sched.step()
            opt.zero_grad()


main()
