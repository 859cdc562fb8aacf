"""Optimizers that are made last, weights that are loaded in place, and models of which no optimizer holds anything."""

import copy

import torch
from peft import get_peft_model
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModelForCausalLM


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.encoder(x))


class Run:
    def __init__(self, path):
        self.model = Net()
        self.model.load_state_dict(torch.load(path), assign=True)
        self.model.head = nn.Linear(4, 8)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.model.load_state_dict(torch.load(path))
        self.teacher = Net()
        self.teacher.load_state_dict(torch.load(path), assign=True)
        self.average = copy.deepcopy(self.model)
        self.ddp = DistributedDataParallel(self.model)


def frozen(path):
    model = Net()
    optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)
    model.encoder.load_state_dict(torch.load(path), assign=True)
    return model, optimizer


def again(path):
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())
    model.load_state_dict(torch.load(path), assign=True)
    optimizer = torch.optim.AdamW(model.parameters())
    return model, optimizer


def adapted(config, folds):
    for _ in range(folds):
        model = AutoModelForCausalLM.from_pretrained("gpt2")
        model.resize_token_embeddings(10)
        model = get_peft_model(model, config)
        optimizer = torch.optim.AdamW(model.parameters())
        optimizer.step()
