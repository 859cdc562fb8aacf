"""D6: a line of the hostfile is written as `slots = 2`, and DeepSpeed's launcher starts nothing.

python repro.py [--fixed]

DeepSpeed is not needed: `fetch_hostfile` reads the file as deepspeed.launcher.runner does, and the ranks of this
machine are started with the variables that its launcher sets.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import socket
import sys
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("train")


def fetch_hostfile(path: Path) -> dict[str, int]:
    """Return the slots of each host; raise as DeepSpeed does for a line that is not `name slots=N`."""
    hosts: dict[str, int] = {}
    for line in path.read_text().splitlines():
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        match = re.search(r"^(\S+)\s+slots=(\d+)", entry)
        if match is None:
            raise ValueError(f"Hostfile contains a bad entry: {entry}, unable to proceed with launching")
        if match.group(1) in hosts:
            raise ValueError(
                f"Hostfile contains multiple entries for {match.group(1)}, unable to proceed with launching"
            )
        hosts[match.group(1)] = int(match.group(2))
    if not hosts:
        raise ValueError("Hostfile is empty or not formatted correctly, unable to proceed with launching.")
    return hosts


def train(local_rank: int, world_size: int, port: int) -> None:
    """One rank: DDP on the CPU for some steps."""
    environment = {"RANK": local_rank, "LOCAL_RANK": local_rank, "WORLD_SIZE": world_size, "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in environment.items()} | {"MASTER_ADDR": "127.0.0.1"})
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{local_rank}] %(levelname)s %(message)s")
    dist.init_process_group("gloo", timeout=timedelta(seconds=15))
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(local_rank)
    for step in range(1, 4):
        inputs = torch.randn(16, 8, generator=generator)
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f (rank %d of %d)", step, loss.item(), dist.get_rank(), dist.get_world_size())
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="write the line as `localhost slots=2`")
    fixed = parser.parse_args().fixed
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s [runner.py] %(message)s", stream=sys.stderr
    )
    hostfile = Path("hostfile")
    hostfile.write_text("# name and GPUs of each machine\nlocalhost slots=2\n" if fixed else "localhost slots = 2\n")
    Path("run.sh").write_text("deepspeed --hostfile hostfile train.py\n")

    hosts = fetch_hostfile(hostfile)
    log.info("resource pool: %s", hosts)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.start_processes(train, (hosts["localhost"], port), nprocs=hosts["localhost"], start_method="fork")
    log.info("all processes of %s ended well", *hosts)


if __name__ == "__main__":
    main()
