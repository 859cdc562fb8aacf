import os

import torch
import torch.distributed as dist


def setup():
    local, per_node = int(os.environ["SLURM_LOCALID"]), int(os.environ["SLURM_NTASKS_PER_NODE"])
    node = int(os.environ["SLURM_NODEID"])
    os.environ["RANK"] = str(node * per_node + local)
    os.environ["LOCAL_RANK"] = str(local)
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    dist.destroy_process_group()


def by_hand(world):
    dist.init_process_group("nccl", rank=int(os.environ["SLURM_PROCID"]), world_size=world)
