"""The part is a unit by itself, is gathered in another way, or is taken out of the whole state."""

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


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 100)


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.ModuleList(Cell() for _ in range(4))


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Embedding(100, 8)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.body, self.head = Trunk(), Body(), Head()


class Run:
    def __init__(self):
        self.net = FSDP(Net(), auto_wrap_policy=ModuleWrapPolicy({Cell, Head}))

    def units(self, path):
        with FSDP.state_dict_type(self.net, StateDictType.FULL_STATE_DICT, WHOLE):
            body, head = self.net.body.state_dict(), self.net.module.head.state_dict()
        if dist.get_rank() == 0:
            torch.save({"body": body, "head": head}, path)

    def taken_out(self, path):
        with FSDP.state_dict_type(self.net, StateDictType.FULL_STATE_DICT, WHOLE):
            state = self.net.state_dict()
        if dist.get_rank() == 0:
            torch.save({k: v for k, v in state.items() if k.startswith("trunk.")}, path)

    def summoned(self, path):
        with FSDP.summon_full_params(self.net, writeback=False):
            state = self.net.module.trunk.state_dict()
            if dist.get_rank() == 0:
                torch.save(state, path)
