"""A mesh of replicas and shards is handed to FSDP whole, beside one for the tensors."""

import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
from net import LM

dist.init_process_group("nccl")
mesh = init_device_mesh("cuda", (2, 2, 4), mesh_dim_names=("replicate", "shard", "tp"))
model = LM()
for block in model.blocks:
    parallelize_module(block, mesh["tp"], {"up": ColwiseParallel()})
    fully_shard(block, mesh=mesh["replicate", "shard"])
fully_shard(model, mesh=mesh["replicate", "shard"])
model(1).backward()
