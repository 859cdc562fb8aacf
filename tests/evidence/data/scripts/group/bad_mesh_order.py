"""Data that is divided as if tensor parallelism were the last dimension of the mesh."""

import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.utils.data import DataLoader, DistributedSampler


def build(args, dataset):
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (args.tp, world // args.tp), mesh_dim_names=("tp", "dp"))
    sampler = DistributedSampler(dataset, num_replicas=world // args.tp, rank=rank // args.tp)  # distkb: script.mesh-in-other-order
    return mesh, DataLoader(dataset, sampler=sampler)
