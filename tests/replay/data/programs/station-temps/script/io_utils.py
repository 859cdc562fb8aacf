import json
import os

import torch


def to_cpu(state):
    out = {}
    for name, t in state.items():
        if hasattr(t, "to_local"):
            t = t.to_local()
        out[name] = t.detach().cpu().clone()
    return out


def write_weights(model, path, rank):
    state = to_cpu(model.state_dict())
    if rank == 0:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        torch.save(state, path)
    return state


def append(path, row):
    with open(path, "a") as f:
        f.write(json.dumps(row) + "\n")
