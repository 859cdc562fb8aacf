"""A longer timeout for the default group, and another group that keeps the backend's own."""

from datetime import timedelta

import torch.distributed as dist


def main():
    dist.init_process_group("nccl", timeout=timedelta(hours=2))
    saving = dist.new_group(backend="gloo")  # distkb: script.group-keeps-default-timeout
    dist.barrier(group=saving)
