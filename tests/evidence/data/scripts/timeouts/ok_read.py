"""The script reads its own variable, and the monitor is raised with the timeout."""

import os
from datetime import timedelta

import torch.distributed as dist

os.environ.setdefault("DIST_TIMEOUT", "3600")
os.environ["TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"] = "7200"
os.environ["NCCL_IB_TIMEOUT"] = "22"
NAMES = {"NCCL_TIMEOUT": "what people set"}


def main():
    seconds = int(os.environ["DIST_TIMEOUT"])
    dist.init_process_group("nccl", timeout=timedelta(seconds=seconds))
    print(NAMES)
    dist.destroy_process_group()
