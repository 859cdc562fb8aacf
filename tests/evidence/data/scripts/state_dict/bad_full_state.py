import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import fully_shard

FULL = StateDictOptions(full_state_dict=True, cpu_offload=True)


def main(model, path):
    for block in model.layers:
        fully_shard(block)
    fully_shard(model)
    if dist.get_rank() == 0:
        torch.save(get_model_state_dict(model, options=FULL), path)  # distkb: script.state-dict-on-some-ranks
