"""Data that is divided as the mesh has it."""

import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.utils.data import DataLoader, DistributedSampler


def build(args, dataset):
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (world // args.tp, args.tp), mesh_dim_names=("dp", "tp"))
    sampler = DistributedSampler(dataset, num_replicas=world // args.tp, rank=rank // args.tp)
    return mesh, DataLoader(dataset, sampler=sampler)


def build_by_mesh(args, dataset):
    mesh = init_device_mesh("cpu", (args.tp, args.dp), mesh_dim_names=("tp", "dp"))
    sampler = DistributedSampler(dataset, num_replicas=args.dp, rank=mesh["dp"].get_local_rank())
    return mesh, DataLoader(dataset, sampler=sampler)
