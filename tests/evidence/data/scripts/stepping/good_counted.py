"""The engine counts."""

import deepspeed
from lib import Net, loader


class T:
    def __init__(self, cfg):
        self.cfg = cfg
        net = Net()
        self.engine, *_ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=cfg)
        self.steps = 0

    def train_step(self, batch):
        loss = self.engine(batch)
        self.engine.backward(loss)
        self.engine.step()
        self.steps += 1


t = T("ds.json")
for b in loader():
    t.train_step(b)
