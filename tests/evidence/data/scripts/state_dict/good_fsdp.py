import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullStateDictConfig, StateDictType
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.nn.parallel import DistributedDataParallel as DDP


def main(net):
    model = FSDP(net)
    config = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, config):
        state = model.state_dict()
    if dist.get_rank() == 0:
        torch.save(state, "model.pt")


def either(net, args, rank):
    if args.sharded:
        model = FSDP(net)
    else:
        model = DDP(net)
    if not args.sharded and rank == 0:
        torch.save(model.state_dict(), "model.pt")


def replicated(net, rank):
    model = DDP(net)
    if rank == 0:
        torch.save(model.module.state_dict(), "model.pt")
