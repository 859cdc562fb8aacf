"""One part of a wrapped model is written, whose own parameters belong to the unit around it."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullStateDictConfig, StateDictType
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import ModuleWrapPolicy

WHOLE = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Embedding(100, 8)
        self.cells = nn.ModuleList(Cell() for _ in range(4))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = Trunk()
        self.end = nn.Linear(8, 100)


def bare(net):
    return getattr(net, "module", net)


def write(weights, path):
    if dist.get_rank() == 0:
        torch.save({"weights": weights}, path)  # distkb: script.shards-saved-on-main


class Run:
    def __init__(self):
        self.net = FSDP(Net(), auto_wrap_policy=ModuleWrapPolicy({Cell}))

    def export(self, path):
        with FSDP.state_dict_type(self.net, StateDictType.FULL_STATE_DICT, WHOLE):
            write(self.net.trunk.state_dict(), path)

    def keep(self, path):
        state = {}
        with FSDP.state_dict_type(self.net, StateDictType.FULL_STATE_DICT, WHOLE):
            state["net"] = bare(self.net).state_dict()
        if dist.get_rank() == 0:
            torch.save(state, path)  # distkb: script.shards-saved-on-main
