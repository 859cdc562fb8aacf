"""The mesh for hybrid sharding has the replicas first."""

import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from net import LM

dist.init_process_group("nccl")
mesh = init_device_mesh("cuda", (dist.get_world_size() // 8, 8), mesh_dim_names=("replicate", "shard"))
model = LM()
for block in model.blocks:
    fully_shard(block, mesh=mesh)
fully_shard(model, mesh=mesh)
model(1).backward()
