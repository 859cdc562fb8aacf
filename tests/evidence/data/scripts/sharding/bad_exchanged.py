"""Optimizers that hold parameters for which others are put in afterwards."""

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


def groups(model):
    fast, slow = [], []
    for name, weight in model.named_parameters():
        (fast if name.startswith("head") else slow).append(weight)
    return [{"params": fast, "lr": 1.0}, {"params": slow}]


def load(model, path):
    model.encoder.load_state_dict(torch.load(path), assign=True)


def pretrained(path):
    model = Net()
    optimizer = torch.optim.AdamW(groups(model))  # distkb: script.optimizer-before-exchange
    load(model, path)
    return DistributedDataParallel(model), optimizer


class Run:
    def __init__(self, classes):
        self.model = Net()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)  # distkb: script.optimizer-before-exchange
        self.renew(classes)
        self.ddp = DistributedDataParallel(self.model)

    def renew(self, classes):
        self.model.head = nn.Linear(4, classes)


def adapted(config, tokenizer):
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    optimizer = torch.optim.AdamW(model.parameters())  # distkb: script.optimizer-before-exchange
    model.resize_token_embeddings(len(tokenizer))
    return get_peft_model(model, config), optimizer


def on_meta():
    with torch.device("meta"):
        model = Net()
    optimizer = torch.optim.AdamW(model.parameters())  # distkb: script.optimizer-before-exchange
    model.to_empty(device="cpu")
    return model, optimizer
