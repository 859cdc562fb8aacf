import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_state_dict
from torch.distributed.fsdp import fully_shard


def whole(model, path):
    fully_shard(model.layers)
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    state = get_model_state_dict(model, options=options)
    if dist.get_rank() == 0:
        torch.save(state, path)


def shards(model, optimizer, path):
    weights, moments = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optimizer": moments}, checkpoint_id=path)


def configured(model, path, args):
    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=args.offload))
    if dist.get_rank() == 0:
        torch.save(state, path)
