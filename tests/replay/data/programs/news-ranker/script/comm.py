"""Process groups used by the trainer."""
import os
from datetime import timedelta

import torch
import torch.distributed as dist

_groups = {}


def setup(timeout_minutes):
    dist.init_process_group("gloo", timeout=timedelta(minutes=timeout_minutes))
    _groups["metrics"] = dist.new_group(backend="gloo", timeout=timedelta(seconds=15))
    return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def metrics_group():
    return _groups["metrics"]


def mean_over_ranks(values):
    t = torch.tensor([float(v) for v in values], dtype=torch.float64)
    dist.all_reduce(t, group=metrics_group())
    return (t / dist.get_world_size()).tolist()


def share_from_main(values):
    box = [values]
    dist.broadcast_object_list(box, src=0, group=metrics_group())
    return box[0]


def teardown():
    dist.destroy_process_group()
