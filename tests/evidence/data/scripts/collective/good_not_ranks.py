import sys

import torch.distributed as dist


def neutral(args, world_size, rank):
    if world_size == 1:
        return
    if args.local_rank != -1:
        dist.barrier()
    if not dist.is_initialized():
        return
    if rank < 0:
        sys.exit("a rank is needed")
    dist.barrier()


def point_to_point(rank, x):
    if rank == 0:
        dist.send(x, dst=1)
    elif rank == 1:
        dist.recv(x, src=0)


def own_group(local_rank, x, leaders):
    if local_rank == 0:
        dist.all_reduce(x, group=leaders)


def dead_branch(distributed, rank):
    if not distributed:
        if rank == 0:
            dist.barrier()


def either(rank, sharded, x):
    if sharded or rank == 0:
        dist.all_reduce(x)


def refuse(rank, ok):
    if rank == 0 and not ok:
        raise RuntimeError("no data")
    dist.barrier()


def sync(x, wait=False):
    if wait:
        dist.barrier()
    return x


def writes(rank, x):
    if rank == 0:
        sync(x)


def later(rank, step):
    if rank == 0:

        def hook():
            dist.barrier()

        print(hook, step)
