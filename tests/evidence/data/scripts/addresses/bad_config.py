"""Host and port come from a configuration, the rank from the launcher."""

import os

import torch.distributed as dist
import yaml


class Learner:
    def __init__(self, path):
        with open(path) as file:
            self.cfg = yaml.safe_load(file)["cluster"]
        self.rank = int(os.environ["RANK"])
        self.world = int(os.environ["WORLD_SIZE"])

    def connect(self):
        url = f"tcp://{self.cfg['host']}:{self.cfg['port']}"
        dist.init_process_group("gloo", init_method=url, rank=self.rank, world_size=self.world)  # distkb: script.address-by-hand
        dist.barrier()
        dist.destroy_process_group()
