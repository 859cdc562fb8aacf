"""An address of this machine by default."""

import torch, os, argparse
import torch.distributed as dist
from lib import train

p = argparse.ArgumentParser()
p.add_argument("--dist-url", default="tcp://localhost:10001")
p.add_argument("--backend", default="nccl")
a = p.parse_args()
rank, world, local = (int(os.environ[k]) for k in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
torch.cuda.set_device(local)
dist.init_process_group(backend=a.backend, init_method=a.dist_url, world_size=world, rank=rank)  # distkb: script.address-by-hand
train()
