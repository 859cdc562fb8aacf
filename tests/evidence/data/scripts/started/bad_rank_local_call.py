import os

import torch.distributed as dist


class Cluster:
    def __init__(self, world):
        self.local = int(os.environ["LOCAL_RANK"])
        dist.init_process_group("nccl", rank=self.local, world_size=world)  # distkb: script.rank-from-local
        dist.destroy_process_group()
