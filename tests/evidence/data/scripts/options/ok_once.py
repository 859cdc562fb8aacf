import lightning as L
from lightning.pytorch.plugins import AsyncCheckpointIO, TorchCheckpointIO
from lightning.pytorch.plugins.environments import SLURMEnvironment
from lightning.pytorch.plugins.precision import MixedPrecision
from lightning.pytorch.strategies import DDPStrategy


def with_background_save(module, data):
    io = AsyncCheckpointIO(TorchCheckpointIO())
    trainer = L.Trainer(devices=2, strategy=DDPStrategy(static_graph=True), plugins=[io], precision="bf16-mixed")
    trainer.fit(module, data)


def under_slurm(module, data):
    plugins = [SLURMEnvironment(auto_requeue=False), MixedPrecision("bf16-mixed", "cuda")]
    strategy = DDPStrategy(checkpoint_io=TorchCheckpointIO())
    trainer = L.Trainer(accelerator="gpu", devices=8, num_nodes=2, strategy=strategy, plugins=plugins, precision=None)
    trainer.fit(module, data)
