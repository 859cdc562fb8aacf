"""D61: a quick single-process test in an interactive Slurm shell; Accelerate takes its PMI variables for a launch.

python repro.py [--fixed], with the variables that `srun --ntasks=2 --mpi=pmi2 --pty bash` leaves in its shell
"""

from __future__ import annotations

import argparse
import logging
import os
from datetime import timedelta

import torch
from torch import nn

STEPS = 4
OF_A_TASK = ("PMI_", "PMIX_", "OMPI_", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID")

log = logging.getLogger("train")


def forget_the_task() -> None:
    """Drop what says that this process is one of several that a scheduler started: nobody started any."""
    for name in [name for name in os.environ if name.startswith(OF_A_TASK)]:
        del os.environ[name]


def train() -> None:
    # Imported here, since Accelerate reads the environment.
    from accelerate import Accelerator
    from accelerate.utils import InitProcessGroupKwargs

    accelerator = Accelerator(cpu=True, kwargs_handlers=[InitProcessGroupKwargs(timeout=timedelta(seconds=8))])
    log.info("training with %d process(es)", accelerator.num_processes)
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer = accelerator.prepare(model, optimizer)
    for step in range(1, STEPS + 1):
        inputs = torch.randn(8, 4)
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True))
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        log.info("step %d loss %.4f", step, loss.item())
    log.info("training finished")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="run as the one process that this is")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    if fixed:
        forget_the_task()
    found = {name: value for name, value in sorted(os.environ.items()) if name.startswith(("SLURM_", "PMI_"))}
    log.info("scheduler: %s", " ".join(f"{name}={value}" for name, value in found.items()))
    train()


if __name__ == "__main__":
    main()
