"""The loopback address is only what holds where the launcher gives no other one."""

import os

import torch.distributed as dist


class Cluster:
    def __init__(self, world):
        self.local = int(os.environ["LOCAL_RANK"])
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        dist.init_process_group("gloo", rank=self.local, world_size=world)  # distkb: script.rank-from-local
        dist.destroy_process_group()
