"""Ranks of the job, and groups of which rank 0 is a member."""

import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


def shift(box, group):
    place = dist.get_rank(group)
    following = (place + 1) % dist.get_world_size(group)
    request = dist.isend(box, dst=dist.get_global_rank(group, following), group=group)
    request.wait()
    dist.broadcast(box, group_src=0, group=group)


def share(box):
    everyone = dist.new_group(backend="gloo")
    dist.broadcast(box, src=0, group=everyone)
    rank = dist.get_rank()
    dist.send(box, dst=(rank + 1) % dist.get_world_size())


def share_in_mesh(box):
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    rows = mesh.get_group("tp")
    first = dist.get_process_group_ranks(rows)[0]
    dist.broadcast(box, src=first, group=rows)
