"""The same by `save_pretrained`, in a class."""

import deepspeed
from net import Net, config, loader


class Job:
    def __init__(self):
        self.engine, *_ = deepspeed.initialize(
            model=Net(), config=dict(config, zero_optimization={"stage": 3})
        )

    def save(self, path):
        if self.engine.global_rank == 0:
            self.engine.module.save_pretrained(path)  # distkb: script.state-of-partitioned

    def run(self):
        for b in loader():
            self.engine.backward(self.engine(**b).loss)
            self.engine.step()
        self.save("out")


Job().run()
