import lightning as L
from lightning.pytorch.plugins import AsyncCheckpointIO, TorchCheckpointIO
from lightning.pytorch.strategies import DDPStrategy


class Job:
    def __init__(self, module, epochs):
        self.module = module
        self.io = TorchCheckpointIO()
        self.strategy = DDPStrategy(find_unused_parameters=False, checkpoint_io=self.io)
        self.epochs = epochs

    def run(self, data):
        plugins = []
        plugins.append(AsyncCheckpointIO())
        settings = dict(devices=2, max_epochs=self.epochs, plugins=plugins)
        trainer = L.Trainer(strategy=self.strategy, **settings)  # distkb: script.option-given-twice
        trainer.fit(self.module, data)


def main(module, data):
    Job(module, 3).run(data)
