"""The engine is called."""

import deepspeed
from lib import Net, loader, CFG


class T:
    def __init__(self):
        self.model = Net()
        self.engine, _, _, _ = deepspeed.initialize(model=self.model, model_parameters=self.model.parameters(), config=CFG)

    def loss(self, b):
        return self.engine(b["x"], b["y"])

    def run(self):
        for b in loader():
            loss = self.loss(b)
            self.engine.backward(loss)
            self.engine.step()


T().run()
