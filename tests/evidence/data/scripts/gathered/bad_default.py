import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


class Run:
    def __init__(self, net, policy):
        self.model = FSDP(net, auto_wrap_policy=policy)

    def save(self, path):
        state = self.model.state_dict()  # distkb: script.state-without-type
        if dist.get_rank() == 0:
            torch.save(state, path)
