"""A step gets the engine."""

import deepspeed
import torch
from lib import Net, loader, args


def get_engine(model):
    engine, opt, _, sched = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
    return engine


def step(model, engine, batch):
    logits = engine(batch["ids"])
    loss = torch.nn.functional.cross_entropy(logits, batch["y"])
    engine.backward(loss)
    engine.step()


model = Net()
engine = get_engine(model)
for b in loader():
    step(model, engine, b)
