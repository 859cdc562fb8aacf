"""Roles whose calls name their group, calls that both roles make, and a default group of its own for each."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def grouped(model):
    rank, world = dist.get_rank(), dist.get_world_size()
    learners = list(range(world - 1))
    group = dist.new_group(learners)
    if rank in learners:
        wrapped = DDP(model, process_group=group)
        dist.all_reduce(wrapped(torch.ones(2)), group=group)
        dist.barrier(group)
    else:
        dist.recv(torch.empty(2), src=0)
    dist.barrier()


def both(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    if rank == world - 1:
        x = x * 2
        dist.broadcast(x, src=world - 1)
    else:
        dist.broadcast(x, src=world - 1)


def own_default(rank, n_trainers):
    if rank < n_trainers:
        dist.init_process_group("gloo", rank=rank, world_size=n_trainers)
        dist.all_reduce(torch.ones(1))
    else:
        serve()


def serve():
    print("waits for calls over another way")


def in_turn(x):
    rank = dist.get_rank()
    for turn in range(dist.get_world_size()):
        if turn == rank:
            print(x)
        dist.barrier()


def by_step(x, step):
    group = dist.new_group([0, 1])
    if step % 10 == 0:
        dist.all_reduce(x)
    dist.all_reduce(x, group=group)


def early(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    if rank == world - 1:
        dist.barrier()
        return
    print(x)
    dist.barrier()


def sends(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    if rank == world - 1:
        dist.recv(x, src=0)
    elif rank > 0:
        print("nothing to do")


def seeded(seed, mesh):
    if seed is None:
        state = torch.get_rng_state()[:8]
        dist.broadcast(state, src=0)
        seed = int(state[0])
    seed += mesh.get_local_rank()
    torch.manual_seed(seed)
