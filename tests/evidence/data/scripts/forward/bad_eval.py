import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.nn.parallel import DistributedDataParallel as DDP


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        for batch in loader:
            model(batch)


def sharded(net, loader):
    model = FSDP(net)
    if dist.get_rank() == 0:
        evaluate(model, loader)  # distkb: script.forward-on-some-ranks


def replicated(net, loader):
    ddp_model = DDP(net)
    if dist.get_rank() == 0:
        ddp_model(loader)  # distkb: script.ddp-forward-on-some-ranks
