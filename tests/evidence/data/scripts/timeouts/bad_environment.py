"""Variables that sound right, set in four ways."""

import os

import torch.distributed as dist

LIMITS = {
    "GLOO_TIMEOUT_SECONDS": "3600",  # distkb: script.timeout-nobody-reads
    "OMP_NUM_THREADS": "4",
}
os.environ.update({"TORCH_NCCL_TIMEOUT_SECONDS": "3600"})  # distkb: script.timeout-nobody-reads
os.environ.update(NCCL_COLLECTIVE_TIMEOUT="3600")  # distkb: script.timeout-nobody-reads
os.environ.setdefault("ACCELERATE_TIMEOUT", "3600")  # distkb: script.timeout-nobody-reads
for name, value in LIMITS.items():
    os.environ[name] = value


def main():
    dist.init_process_group("gloo")
    dist.barrier()
    dist.destroy_process_group()
