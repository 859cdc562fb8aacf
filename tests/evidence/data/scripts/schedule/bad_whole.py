"""Counted over the whole data set."""

import os

import torch
import torch.distributed as dist
from stuff import Data, make_model
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from transformers import get_cosine_schedule_with_warmup


def main(epochs=4, batch=16):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    data = Data()
    model = DDP(make_model().cuda())
    opt = torch.optim.AdamW(model.parameters(), 1e-4)
    total = epochs * (len(data) // batch)
    sched = get_cosine_schedule_with_warmup(opt, 100, total)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch, sampler=sampler)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for ids in loader:
            model(ids.cuda()).loss.backward()
            opt.step()
            sched.step()  # distkb: script.schedule-of-whole-length
            opt.zero_grad()


main()
