"""D67: a moving average is started as a deep copy of a model that is already sharded.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import copy
import logging
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

TIMEOUT = timedelta(seconds=6)
STEPS = 3
DECAY = 0.9

log = logging.getLogger("train")


def build() -> nn.Sequential:
    """A small model with the same weights on every rank."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))


def shard(model: nn.Sequential) -> nn.Sequential:
    """Shard a model over all ranks."""
    fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    return model


def averaged(model: nn.Sequential, fixed: bool) -> nn.Sequential:
    """The model that will hold the moving average."""
    if not fixed:
        return copy.deepcopy(model)
    average = shard(build())
    average.load_state_dict(model.state_dict())
    return average


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="build and shard a second model, and copy the shards")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    model = shard(build())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    average = averaged(model, fixed)
    torch.manual_seed(1 + rank)
    for step in range(1, STEPS + 1):
        inputs = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for kept, new in zip(average.parameters(), model.parameters(), strict=True):
                kept.mul_(DECAY).add_(new, alpha=1 - DECAY)
        log.info("step %d loss %.4f", step, loss.item())
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
