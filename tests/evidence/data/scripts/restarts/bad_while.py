"""The step is restored, and a loop that ends at a number of steps begins with epoch 0 and its first batch."""

import json
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def main(data, total):
    dist.init_process_group("gloo")
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    model = DDP(torch.nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    step = 0
    if os.path.exists("last.pt"):
        state = torch.load("last.pt", map_location="cpu")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = json.load(open("progress.json"))["step"]
        print(f"goes on at {step}")
    epoch = 0
    while step < total:  # distkb: script.data-starts-over
        sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            if step == total:
                break
        epoch += 1
    dist.destroy_process_group()
