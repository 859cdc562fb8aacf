"""All ranks meet at this machine's own address, so the number on this machine is the number in the group."""

import os

import torch.distributed as dist


class Cluster:
    def __init__(self, world):
        self.local = int(os.environ["LOCAL_RANK"])
        os.environ["MASTER_ADDR"] = "127.0.0.1"
        dist.init_process_group("gloo", rank=self.local, world_size=world)
        dist.destroy_process_group()
