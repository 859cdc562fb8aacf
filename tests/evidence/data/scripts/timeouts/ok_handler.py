"""Handlers that arrive: by a list, a return, an attribute."""

import os
from datetime import timedelta

from accelerate import Accelerator, InitProcessGroupKwargs

os.environ["TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"] = "300"


def handler():
    return InitProcessGroupKwargs(timeout=timedelta(hours=2))


class Trainer:
    def __init__(self):
        self.init = InitProcessGroupKwargs(timeout=timedelta(hours=1))
        handlers = [self.init]
        self.accelerator = Accelerator(kwargs_handlers=handlers)


def build():
    kwargs = InitProcessGroupKwargs(timeout=timedelta(hours=3))
    return Accelerator(kwargs_handlers=[kwargs]), Accelerator(kwargs_handlers=[handler()])
