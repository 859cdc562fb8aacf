"""A helper makes the mesh for FSDP1's hybrid strategy with the shards first."""

import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, ShardingStrategy
from net import LM


def layout(gpus):
    nodes = dist.get_world_size() // gpus
    return init_device_mesh("cuda", (gpus, nodes), mesh_dim_names=("dp_shard", "dp_replicate"))


class Run:
    def __init__(self):
        dist.init_process_group("nccl")
        self.mesh = layout(8)
        hybrid = ShardingStrategy.HYBRID_SHARD
        self.model = FSDP(LM(), device_mesh=self.mesh, sharding_strategy=hybrid)  # distkb: script.shards-before-replicas


Run().model(1).backward()
