"""The engine is called by a helper."""

import deepspeed
from lib import Net, loader, CFG


def compute(model, batch):
    return model(batch["x"], batch["y"])


net = Net()
engine, *_ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=CFG)
for b in loader():
    loss = compute(engine, b)
    engine.backward(loss)
    engine.step()
