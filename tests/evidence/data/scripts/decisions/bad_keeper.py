"""An early return before the save."""

import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import (
    FullStateDictConfig,
    StateDictType,
)
from torch.distributed.fsdp import (
    FullyShardedDataParallel as FSDP,
)

from data import loaders
from model import make_lm


class Keeper:
    def __init__(self, folder):
        self.folder = folder
        self.lowest = float("inf")

    def offer(self, model, value):
        if value >= self.lowest:  # distkb: script.saved-by-own-measure
            return
        self.lowest = value
        with FSDP.state_dict_type(
            model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(rank0_only=True)
        ):
            state = model.state_dict()
        if dist.get_rank() == 0:
            torch.save(state, os.path.join(self.folder, "best.pt"))


def validate(model, loader):
    losses = []
    with torch.no_grad():
        for ids in loader:
            losses.append(model(ids.cuda(), labels=ids.cuda()).loss.item())
    return sum(losses) / max(1, len(losses))


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = FSDP(make_lm().cuda())
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
    train, val = loaders(dist.get_rank(), dist.get_world_size())
    keeper = Keeper("out")
    for step, ids in enumerate(train):  # distkb: script.decided-by-own-part
        opt.zero_grad()
        model(ids.cuda(), labels=ids.cuda()).loss.backward()
        opt.step()
        if step % 200 == 199:
            keeper.offer(model, validate(model, val))
    dist.destroy_process_group()


main()
