"""D65: the loss measures distances of a hidden state that tensor parallelism has cut; DTensor has no rule for that.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

TIMEOUT = timedelta(seconds=6)
STEPS = 3
WIDTH, CENTERS = 16, 4

log = logging.getLogger("train")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="gather the hidden state before measuring distances")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    torch.manual_seed(0)
    encoder = nn.Linear(8, WIDTH)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    parallelize_module(encoder, mesh, ColwiseParallel(use_local_output=False))
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.01)
    centers = torch.randn(CENTERS, WIDTH)
    for step in range(1, STEPS + 1):
        hidden = torch.tanh(encoder(torch.randn(16, 8)))
        assert isinstance(hidden, DTensor)
        whole = hidden.full_tensor() if fixed else hidden
        others = centers if fixed else DTensor.from_local(centers, mesh)
        loss = torch.cdist(whole, others).min(dim=1).values.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d loss %.4f", step, float(loss))
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
