"""The handler for the group is made, another one is given."""

from datetime import timedelta

from accelerate import Accelerator, DistributedDataParallelKwargs, InitProcessGroupKwargs


def build():
    ddp = DistributedDataParallelKwargs(static_graph=True)
    init = InitProcessGroupKwargs(timeout=timedelta(hours=2))  # distkb: script.timeout-handler-unused
    return Accelerator(kwargs_handlers=[ddp])


class Trainer:
    def setup(self):
        pg_kwargs = InitProcessGroupKwargs(backend="nccl", timeout=timedelta(hours=2))  # distkb: script.timeout-handler-unused
        self.accelerator = Accelerator(mixed_precision="bf16")
