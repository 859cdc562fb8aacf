"""A loss over the tokens of all ranks, whose gradients DDP averages once more."""

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel


def train(model, optimizer, loader):
    model = DistributedDataParallel(model)
    for batch in loader:
        total = batch["mask"].sum()
        dist.all_reduce(total)
        loss = model(batch).sum() / total.clamp(min=1)  # distkb: script.loss-averaged-twice
        loss.backward()
        optimizer.step()


def train_prepared(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        count = accelerator.reduce(torch.tensor(len(batch)), reduction="sum")
        accelerator.backward(model(batch).sum() / count)  # distkb: script.loss-averaged-twice
        optimizer.step()
