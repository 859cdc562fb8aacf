import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def main(data, args):
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    batch_size = args.batch_size * torch.cuda.device_count()
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=batch_size, sampler=sampler)  # distkb: script.batch-times-processes
    model = DistributedDataParallel(torch.nn.Linear(8, 1).cuda(), device_ids=[local_rank])
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).mean().backward()
    dist.destroy_process_group()
