"""Ranks of a group where ranks of the job are asked for."""

import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


class Ring:
    def __init__(self, group):
        self.group = group
        self.place = dist.get_rank(group)
        self.size = dist.get_world_size(group)

    def shift(self, box):
        following = (self.place + 1) % self.size
        request = dist.isend(box, dst=following, group=self.group)  # distkb: script.group-rank-as-global
        request.wait()


def share(box, ranks):
    pair = dist.new_group(ranks)
    dist.broadcast(box, src=dist.get_rank(group=pair), group=pair)  # distkb: script.group-rank-as-global


def share_in_mesh(box):
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    rows = mesh.get_group("tp")
    dist.broadcast(box, 0, group=rows)  # distkb: script.group-rank-as-global
