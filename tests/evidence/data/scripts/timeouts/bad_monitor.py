"""The monitor of the watchdog gets two hours, the group its ten minutes."""

import os

import torch
import torch.distributed as dist


class Job:
    def __init__(self):
        os.environ["TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"] = "7200"  # distkb: script.heartbeat-for-timeout
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl")

    def close(self):
        dist.destroy_process_group()
