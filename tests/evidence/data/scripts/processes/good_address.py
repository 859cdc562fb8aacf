"""The address comes from the launcher."""

import torch, os, argparse
import torch.distributed as dist
from lib import train

p = argparse.ArgumentParser()
p.add_argument("--dist-url", default="tcp://localhost:10001")
p.add_argument("--backend", default="nccl")
a = p.parse_args()
rank, world, local = (int(os.environ[k]) for k in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
torch.cuda.set_device(local)
dist.init_process_group(backend=a.backend, init_method="env://")
train()
