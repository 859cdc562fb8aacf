import torch.distributed as dist
from lightning.pytorch.utilities import rank_zero_only


@rank_zero_only
def write(metrics):
    dist.barrier()  # distkb: script.collective-on-some-ranks
    print(metrics)
