import torch.distributed as dist


def groups(size):
    rank, own = dist.get_rank(), None
    for start in range(0, dist.get_world_size(), size):
        members = list(range(start, start + size))
        group = dist.new_group(members)
        if rank in members:
            own = group
    return own


def local(size):
    rank = dist.get_rank()
    start = rank // size * size
    return dist.new_group(list(range(start, start + size)), use_local_synchronization=True)
