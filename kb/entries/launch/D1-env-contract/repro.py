"""A training script that needs the launcher's environment, started with plain `python`.

Run it as it stands for the failure, with `--fixed` for the repaired form: the same script under torchrun.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

CONTRACT = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
STEPS = 4

log = logging.getLogger("train")


def train() -> None:
    rank = os.environ.get("RANK", "?")
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    log.info("starting, RANK=%s WORLD_SIZE=%s", rank, os.environ.get("WORLD_SIZE", "?"))
    dist.init_process_group("gloo", timeout=timedelta(seconds=8))
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    batch = torch.randn(32, 16)
    target = batch.sum(dim=1, keepdim=True)
    for step in range(STEPS):
        loss = torch.nn.functional.mse_loss(model(batch), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d loss %.4f world_size %d", step, loss.item(), dist.get_world_size())
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.train:
        torch.set_num_threads(1)
        train()
        return 0

    launcher = [sys.executable]
    if args.fixed:
        launcher += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    # A shell that was itself started by a launcher would hide the failure.
    shell = {name: value for name, value in os.environ.items() if name not in CONTRACT}
    return subprocess.run([*launcher, __file__, "--train"], env=shell, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
