"""The wrapper is told its group, or one model is trained by all and groups only measure."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from data import REGIONS, Windows


def own(model):
    rank = dist.get_rank()
    groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    train = Windows(REGIONS[rank // 2])
    loader = DataLoader(train, 32)
    model = DDP(model, process_group=groups[rank // 2])
    dist.all_reduce(torch.ones(1), group=groups[rank // 2])
    return model, loader


def sharded(model):
    mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("region", "dp"))
    dist.new_group([0])
    net = model[dist.get_rank() // 4]
    for layer in net.layers:
        fully_shard(layer, mesh=mesh["dp"])
    fully_shard(net, mesh=mesh["dp"])
    return net


def one_model():
    rank = dist.get_rank()
    group = dist.new_group([0, 1])
    local = rank % torch.cuda.device_count()
    net = torch.nn.Linear(8, 1).to(f"cuda:{local}")
    sampler = DistributedSampler(Windows("all"), num_replicas=4, rank=rank // 2)
    model = DDP(net, device_ids=[local])
    dist.all_reduce(torch.ones(1), group=group)
    return model, sampler
