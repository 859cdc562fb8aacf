import os
import pathlib

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from torch.distributed.fsdp import fully_shard

OPTIONS = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)


class Run:
    def __init__(self, model, args):
        fully_shard(model.layers)
        fully_shard(model)
        self.model = model
        self.last = pathlib.Path(args.scratch) / "last.pt"

    def resume(self):
        if not self.last.exists():
            return 0
        saved = torch.load(self.last, map_location="cpu")
        set_model_state_dict(self.model, saved["model"], options=OPTIONS)  # distkb: script.resumed-by-own-disk
        return saved["step"]
