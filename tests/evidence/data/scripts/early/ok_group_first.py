import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from torch.distributed.fsdp import fully_shard
from transformers import AutoConfig, AutoModelForCausalLM


def main(path):
    config = AutoConfig.from_pretrained(path)
    dist.init_process_group("nccl")
    full = {}
    if dist.get_rank() == 0:
        full = AutoModelForCausalLM.from_pretrained(path).state_dict()
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    fully_shard(model.model)
    fully_shard(model)
    model.to_empty(device="cuda")
    set_model_state_dict(model, full, options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True))
