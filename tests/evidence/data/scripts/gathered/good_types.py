import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullStateDictConfig, StateDictType
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

ONE = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)


def one(net, policy, path):
    model = FSDP(net, auto_wrap_policy=policy)
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, ONE):
        state = model.state_dict()
    if dist.get_rank() == 0:
        torch.save(state, path)


def loaded_by_all(net, policy, path):
    model = FSDP(net, auto_wrap_policy=policy)
    config = FullStateDictConfig(offload_to_cpu=True, rank0_only=False)
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, config):
        model.load_state_dict(torch.load(path, map_location="cpu"))
    return model
