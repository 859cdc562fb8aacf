"""A sampler that is told its dimension of the mesh in a dictionary."""

from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
from torch.utils.data import DataLoader, DistributedSampler


def main(net, data):
    mesh = init_device_mesh("cuda", (4, 2), mesh_dim_names=("data", "tensor"))
    parallelize_module(net, mesh["tensor"], {"up": ColwiseParallel()})
    part = dict(num_replicas=mesh["data"].size(), rank=mesh["data"].get_local_rank())
    sampler = DistributedSampler(data, **part)
    loader = DataLoader(data, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for batch in loader:
            net(batch).sum().backward()
