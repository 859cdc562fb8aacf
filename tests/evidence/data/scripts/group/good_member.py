import torch.distributed as dist

rank = dist.get_rank()
leaders = dist.new_group([0])
if rank == 0:
    dist.barrier(group=leaders)
