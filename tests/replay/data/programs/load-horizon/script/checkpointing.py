import os

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor


def _local(t):
    return t.to_local() if isinstance(t, DTensor) else t


def _path(folder):
    return os.path.join(folder, f"rank{dist.get_rank():02d}.pt")


def save(folder, step, model, optim):
    os.makedirs(folder, exist_ok=True)
    weights = {k: _local(v).clone() for k, v in model.state_dict().items()}
    moments = [
        {k: _local(v).clone() for k, v in optim.state[p].items()} for p in model.parameters()
    ]
    torch.save({"step": step, "weights": weights, "moments": moments}, _path(folder))
    dist.barrier()


@torch.no_grad()
def load(folder, model, optim):
    blob = torch.load(_path(folder), weights_only=True)
    for name, value in model.state_dict().items():
        _local(value).copy_(blob["weights"][name])
    for p, saved in zip(model.parameters(), blob["moments"]):
        state = {}
        for k, v in saved.items():
            if k != "step" and isinstance(p, DTensor):
                v = DTensor.from_local(v, p.device_mesh, p.placements, run_check=False)
            state[k] = v
        optim.state[p] = state
    return blob["step"]
