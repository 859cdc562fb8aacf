import lightning as L
from lightning.pytorch.accelerators import CPUAccelerator
from lightning.pytorch.plugins import AsyncCheckpointIO
from lightning.pytorch.strategies import DDPStrategy


def make(background, quick):
    if background:
        io = AsyncCheckpointIO()
        return L.Trainer(devices=2, strategy=DDPStrategy(checkpoint_io=io))
    return L.Trainer(devices=2, strategy="ddp", plugins=AsyncCheckpointIO() if quick else None)


def on_cpu(module, data):
    strategy = DDPStrategy(accelerator=CPUAccelerator(), process_group_backend="gloo")
    L.Trainer(accelerator="auto", devices=2, strategy=strategy).fit(module, data)
