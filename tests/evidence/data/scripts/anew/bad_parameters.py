"""Only the parameters are saved of a model with running statistics."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())

    def forward(self, x):
        return self.layers(x)


def weights_of(model):
    return {name: p.detach().cpu() for name, p in model.named_parameters()}  # distkb: script.checkpoint-without-buffers


def save(model, optimizer, step, path):
    torch.save({"model": weights_of(model), "optimizer": optimizer.state_dict(), "step": step}, path)


def load(model, optimizer, path):
    state = torch.load(path, map_location="cpu")
    model.load_state_dict(state["model"], strict=False)
    optimizer.load_state_dict(state["optimizer"])
    return DistributedDataParallel(model), state["step"]
