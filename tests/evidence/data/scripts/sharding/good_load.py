import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def main(net, path):
    if dist.get_rank() == 0:
        net.load_state_dict(torch.load(path))
    return FSDP(net, sync_module_states=True)
