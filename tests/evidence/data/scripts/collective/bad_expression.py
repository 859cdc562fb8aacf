import torch.distributed as dist

rank = dist.get_rank()
objects = [None] * 2
names = dist.all_gather_object(objects, "x") if rank == 0 else None  # distkb: script.collective-on-some-ranks
