import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_state_dict
from torch.distributed.fsdp import fully_shard

WHOLE = StateDictOptions(full_state_dict=True)


class Saver:
    def __init__(self, offload=False):
        self.options = StateDictOptions(full_state_dict=True, cpu_offload=offload)

    def save(self, model, path):
        state = get_model_state_dict(model, options=self.options)  # distkb: script.full-state-on-every-rank
        if dist.get_rank() == 0:
            torch.save(state, path)


def main(model, optimizer, path):
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    weights, moments = get_state_dict(model, optimizer, options=WHOLE)  # distkb: script.full-state-on-every-rank
    if dist.get_rank() == 0:
        torch.save({"model": weights, "optimizer": moments}, path)
    Saver().save(model, path)
