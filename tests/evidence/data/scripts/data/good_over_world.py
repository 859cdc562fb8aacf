"""A sampler over the replicas."""

from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
from torch.utils.data import DataLoader, DistributedSampler


def loader_for(data, replicas=None, rank=None):
    sampler = DistributedSampler(data, num_replicas=replicas, rank=rank)
    return DataLoader(data, sampler=sampler)


def main(net, data):
    mesh = init_device_mesh("cuda", (4, 2), mesh_dim_names=("data", "tensor"))
    parallelize_module(net, mesh["tensor"], {"up": ColwiseParallel()})
    loader = loader_for(data, mesh["data"].size(), mesh["data"].get_local_rank())
    for epoch in range(3):
        loader.sampler.set_epoch(epoch)
        for batch in loader:
            net(batch).sum().backward()
