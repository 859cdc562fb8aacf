"""The same by `update`, with Accelerate."""

import os

from accelerate import Accelerator

os.environ.update({"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "3600"})  # distkb: script.heartbeat-for-timeout
accelerator = Accelerator()
accelerator.wait_for_everyone()
