import os

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def restore(path, model):
    state = torch.load(path, map_location=f"cuda:{int(os.environ['LOCAL_RANK'])}")
    model.load_state_dict(state["model"])
    return state["epoch"] + 1


def main(loader, epochs):
    local = int(os.environ["LOCAL_RANK"])
    model = DDP(nn.Linear(8, 1).to(local), device_ids=[local])
    for _ in range(restore("last.pt", model), epochs):
        for x, y in loader:
            nn.functional.mse_loss(model(x), y).backward()
