"""Teacher and student are two models, and so are the stages of a pipeline."""

import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from nets import build, stages


def distill():
    rank = dist.get_rank()
    teachers = [0, 1]
    group = dist.new_group(teachers)
    kind = "teacher" if rank in teachers else "student"
    net = build(kind).cuda()
    return DistributedDataParallel(net, device_ids=[0]), group  # distkb: script.wrapped-for-whole-job


def pipeline(cfg):
    rank = int(os.environ["RANK"])
    stage = rank % cfg.stages
    columns = [dist.new_group(list(range(i, 8, cfg.stages))) for i in range(cfg.stages)]
    part = stages(cfg)[stage]
    for layer in part.layers:
        fully_shard(layer)  # distkb: script.wrapped-for-whole-job
    fully_shard(part)  # distkb: script.wrapped-for-whole-job
    dist.all_reduce(torch.ones(1), group=columns[stage])
    return part
