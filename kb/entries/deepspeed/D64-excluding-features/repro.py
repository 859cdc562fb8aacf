"""D64: context and sequence parallelism are asked for at once, and Accelerate takes only one of them.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn

STEPS = 3

log = logging.getLogger("train")


def train(sizes: dict[str, int]) -> None:
    """A few steps under Accelerate, with these sizes of its parallel dimensions."""
    # Imported here, since Accelerate reads the environment.
    from accelerate import Accelerator, ParallelismConfig

    config = ParallelismConfig(**sizes) if sizes else None
    accelerator = Accelerator(cpu=True, parallelism_config=config)
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer = accelerator.prepare(model, optimizer)
    torch.manual_seed(1 + accelerator.process_index)
    for step in range(1, STEPS + 1):
        inputs = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        log.info("step %d loss %.4f", step, loss.item())
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    accelerator.end_training()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="leave both out: these sequences are short")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    train({} if fixed else {"cp_size": 2, "sp_size": 2})


if __name__ == "__main__":
    main()
