import os

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict


def export(model, path):
    weights = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if dist.get_rank() == 0:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        torch.save(weights, path)
    dist.barrier()


def start_from(model, path):
    weights = torch.load(path, map_location="cpu", mmap=True)
    model.load_state_dict(weights)
    return len(weights)
