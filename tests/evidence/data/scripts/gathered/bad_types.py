import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullStateDictConfig, StateDictType
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def without_config(net, policy, path):
    model = FSDP(net, auto_wrap_policy=policy)
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT):  # distkb: script.full-state-on-every-rank
        state = model.state_dict()
    if dist.get_rank() == 0:
        torch.save(state, path)


def in_host_memory_of_all(net, policy, path):
    model = FSDP(net, auto_wrap_policy=policy)
    config = FullStateDictConfig(offload_to_cpu=True)
    FSDP.set_state_dict_type(model, StateDictType.FULL_STATE_DICT, config)  # distkb: script.full-state-on-every-rank
    state = model.state_dict()
    if dist.get_rank() == 0:
        torch.save(state, path)
