import os

import torch.distributed.checkpoint as dcp
from torch.distributed.fsdp import fully_shard


def resume(model):
    fully_shard(model.layers)
    fully_shard(model)
    folder = os.path.join(os.environ["SLURM_TMPDIR"], "checkpoint")
    found = os.path.isdir(folder)
    state = {"model": model.state_dict()}
    if not found:  # distkb: script.decided-by-own-files
        return state
    dcp.load(state, checkpoint_id=folder)  # distkb: script.resumed-by-own-disk
    return state
