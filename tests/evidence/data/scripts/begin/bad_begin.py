"""The default group is asked before it is there; timeouts as numbers and in variables that nothing reads."""

import os

import torch
import torch.distributed as dist

os.environ["NCCL_TIMEOUT"] = "7200"  # distkb: script.timeout-nobody-reads
os.environ.setdefault("TORCH_NCCL_TIMEOUT_SEC", "7200")  # distkb: script.timeout-nobody-reads


def main():
    rank = dist.get_rank()  # distkb: script.group-used-before-it-exists
    torch.cuda.set_device(rank % torch.cuda.device_count())
    dist.init_process_group("nccl", timeout=3600)  # distkb: script.timeout-as-number
    dist.destroy_process_group()


def other():
    print(f"{dist.get_world_size()} ranks")  # distkb: script.group-used-before-it-exists
    limit = 1800
    dist.init_process_group("gloo", timeout=limit)  # distkb: script.timeout-as-number
    group = dist.new_group([0, 1], timeout=600.0)  # distkb: script.timeout-as-number
    dist.barrier(group)


class Run:
    def __init__(self):
        dist.barrier()  # distkb: script.group-used-before-it-exists
        dist.init_process_group("gloo")


if __name__ == "__main__":
    main()
