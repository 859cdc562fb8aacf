"""A step in a function of its own, and a trainer that is told to look for NaN."""

import lightning as L
import torch
from torch.nn.parallel import DistributedDataParallel

CHECK = True


def step(model, batch, optimizer):
    loss = model(batch).mean()
    loss.backward()
    optimizer.step()
    torch.cuda.empty_cache()  # distkb: script.cache-emptied-each-step
    return loss.detach()


def run(net, loader, optimizer):
    model = DistributedDataParallel(net)
    for batch in loader:
        step(model, batch, optimizer)


def with_lightning(module, data):
    trainer = L.Trainer(devices=4, strategy="ddp", detect_anomaly=CHECK)  # distkb: script.anomaly-left-on
    trainer.fit(module, data)
