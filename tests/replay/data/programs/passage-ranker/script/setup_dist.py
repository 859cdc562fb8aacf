import os
from datetime import timedelta

from accelerate import Accelerator, InitProcessGroupKwargs


def make_accelerator(accum):
    init = InitProcessGroupKwargs(backend="gloo", timeout=timedelta(seconds=10))
    return Accelerator(cpu=True, gradient_accumulation_steps=accum, kwargs_handlers=[init])


def environment():
    keys = ("NCCL_", "GLOO_", "TORCH_", "ACCELERATE_", "OMP_")
    return {k: v for k, v in sorted(os.environ.items()) if k.startswith(keys)}
