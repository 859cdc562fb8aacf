"""D56: a model that was spread by a device map is handed to a data-parallel launch.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]

Without GPUs the map puts the layers on "cpu" and "disk" instead of "cuda:0" and "cuda:1"; the code is the same.
"""

from __future__ import annotations

import argparse
import logging
import os

import torch
from accelerate import Accelerator, dispatch_model, infer_auto_device_map
from torch import nn

WIDTH, STEPS = 64, 4
log = logging.getLogger("train")


def from_pretrained(device_map: str | None) -> nn.Module:
    """Build the model; with "auto" do what from_pretrained does: place the layers where there is room."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1))
    if device_map == "auto":
        one_layer = 4 * (WIDTH * WIDTH + WIDTH)
        places = infer_auto_device_map(model, max_memory={"cpu": 2 * one_layer})
        log.info("device map: %s", places)
        model = dispatch_model(model, places, offload_dir=f"offload{os.environ['RANK']}")
    return model


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="load without a device map: one whole copy per process")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    rank = accelerator.process_index
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    log.info("%s, %d processes", accelerator.distributed_type, accelerator.num_processes)

    model = from_pretrained(device_map=None if fixed else "auto")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model, optimizer = accelerator.prepare(model, optimizer)
    generator = torch.Generator().manual_seed(rank)
    for step in range(1, STEPS + 1):
        inputs = torch.randn(16, WIDTH, generator=generator)
        loss = nn.functional.mse_loss(model(inputs), inputs.mean(dim=1, keepdim=True))
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())
    log.info("training finished")
    torch.distributed.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    accelerator.end_training()


if __name__ == "__main__":
    main()
