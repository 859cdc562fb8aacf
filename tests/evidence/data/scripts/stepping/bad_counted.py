"""The engine is stepped once in so many batches."""

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
        loss = loss / self.engine.gradient_accumulation_steps()
        self.engine.backward(loss)  # distkb: script.accumulation-by-hand
        self.steps += 1
        if self.steps % self.engine.gradient_accumulation_steps() == 0:
            self.engine.step()


t = T("ds.json")
for b in loader():
    t.train_step(b)
