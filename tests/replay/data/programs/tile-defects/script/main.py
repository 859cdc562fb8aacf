import json
import os
import sys

import torch
import torch.distributed as dist

from trainer import Trainer

cfg = json.load(open(sys.argv[1]))
os.makedirs(cfg["logs"], exist_ok=True)
torch.set_num_threads(1)
dist.init_process_group("gloo")
Trainer(cfg, dist.get_rank(), dist.get_world_size()).fit()
dist.destroy_process_group()
