import os
import pathlib

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import set_model_state_dict
from torch.distributed.fsdp import fully_shard


class Run:
    def __init__(self, model, args):
        fully_shard(model)
        self.model = model
        self.last = pathlib.Path(args.output_dir) / "last.pt"

    def resume(self):
        if not self.last.exists():
            return
        set_model_state_dict(self.model, torch.load(self.last, map_location="cpu"))


def told(model):
    fully_shard(model.layers)
    fully_shard(model)
    folder = os.path.join(os.environ["SLURM_TMPDIR"], "checkpoint")
    answer = [os.path.isdir(folder)]
    dist.broadcast_object_list(answer)
    state = {"model": model.state_dict()}
    if answer[0]:
        dcp.load(state, checkpoint_id=folder)
    return state
