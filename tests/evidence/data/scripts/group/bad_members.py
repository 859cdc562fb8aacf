import torch.distributed as dist


def neighbours(rank, size):
    start = rank // size * size
    return list(range(start, start + size))


def groups(size):
    rank = dist.get_rank()
    own = dist.new_group(neighbours(rank, size))  # distkb: script.group-with-other-members
    if rank < size:
        first = dist.new_group([0, 1])  # distkb: script.group-with-other-members
    else:
        first = dist.new_group([2, 3])  # distkb: script.group-with-other-members
    return own, first
