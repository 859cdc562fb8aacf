"""Trains a small model sharded with `fully_shard` and saves it as one file.

As it stands, only rank 0 collects the state dict: it waits in an all-gather that rank 1 never joins.
With `--fixed` every rank collects and only rank 0 writes.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

STEPS = 5
FULL = StateDictOptions(full_state_dict=True, cpu_offload=True)


def build() -> nn.Sequential:
    """Return the plain model, the same on every rank."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 16))


def save(model: nn.Module, path: Path, fixed: bool) -> None:
    """Write the whole model to one file."""
    if fixed:
        state = get_model_state_dict(model, options=FULL)
        if dist.get_rank() == 0:
            torch.save(state, path)
        return
    if dist.get_rank() == 0:
        torch.save(get_model_state_dict(model, options=FULL), path)


def main() -> None:
    """Train for a few steps, save, and load the file into a plain model."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    fixed = parser.parse_args().fixed

    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    logging.basicConfig(format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s", level=logging.INFO)
    dist.init_process_group("gloo", timeout=timedelta(seconds=6))

    model = build()
    fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    torch.manual_seed(1 + rank)
    for step in range(STEPS):
        x = torch.randn(8, 16)
        loss = (model(x) - x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        logging.info("step %d loss %.4f", step, loss.item())

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pt"
        logging.info("saving checkpoint")
        save(model, path, fixed)
        dist.barrier()
        if rank == 0:
            build().load_state_dict(torch.load(path, weights_only=True))
            logging.info("checkpoint loads into the plain model")
    logging.info("training finished")
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
