"""The module inside of the engine is called."""

import deepspeed
from lib import Net, loader, CFG


def compute(model, batch):
    return model.module(batch["x"], batch["y"])  # distkb: script.forward-past-engine


net = Net()
engine, *_ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=CFG)
for b in loader():
    loss = compute(engine, b)
    engine.backward(loss)
    engine.step()
