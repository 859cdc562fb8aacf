"""Weights of another origin into a bare model, and an evaluation that reads an epoch only to be told it."""

import glob

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train(net, backbone, folder, epochs):
    dist.init_process_group("gloo")
    weights = torch.load(backbone)
    net.load_state_dict(weights, strict=False)
    model = DistributedDataParallel(net)
    for epoch in range(epochs):
        model(torch.ones(1)).sum().backward()
        print(f"epoch_{epoch}.pt comes next")
        if dist.get_rank() == 0:
            torch.save(model.state_dict(), f"{folder}/last.pt")


def evaluate(net, path):
    state = torch.load(path)
    net.load_state_dict(state["model"])
    epoch = state["epoch"]
    return net.eval()


def any_of(folder):
    return sorted(glob.glob(f"{folder}/*.pt"))[-1]
