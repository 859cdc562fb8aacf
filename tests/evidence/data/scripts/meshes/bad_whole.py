"""The whole mesh of data and tensor parallelism is handed to FSDP."""

import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
from net import LM

NAMES = ("dp", "tp")


def divide(model, mesh):
    for block in model.blocks:
        parallelize_module(block, mesh["tp"], {"up": ColwiseParallel()})
        fully_shard(block, mesh=mesh)  # distkb: script.other-dimension
    return fully_shard(model, mesh=mesh)  # distkb: script.other-dimension


dist.init_process_group("nccl")
model = divide(LM(), init_device_mesh("cuda", (dist.get_world_size() // 4, 4), mesh_dim_names=NAMES))
model(1).backward()
