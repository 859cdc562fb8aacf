import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import ModuleWrapPolicy


def main(net, policy):
    model = FSDP(net, auto_wrap_policy=ModuleWrapPolicy({torch.nn.Linear}))
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), "model.pt")  # distkb: script.state-dict-on-some-ranks
    return model


def keep(net, rank):
    sharded = main(net, None)
    save(FSDP(net), rank)
    return sharded


def save(model, rank):
    if rank == 0:
        state = model.state_dict()  # distkb: script.state-dict-on-some-ranks
        torch.save(state, "model.pt")
