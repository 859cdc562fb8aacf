import torch.distributed as dist

rank = dist.get_rank()
if rank == 0:
    leaders = dist.new_group([0])  # distkb: script.group-on-some-ranks
