"""A longer timeout for every group, or for none."""

from datetime import timedelta

import torch.distributed as dist

LONG = timedelta(hours=2)


def main():
    dist.init_process_group("nccl", timeout=LONG)
    saving = dist.new_group(None, LONG, "gloo")
    loading = dist.new_group(backend="gloo", timeout=LONG)
    dist.barrier(group=saving)
    dist.barrier(group=loading)
