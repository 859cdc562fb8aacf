"""A second job on a machine whose first job already listens on the port that both were given.

Run it as it stands for the failure, with `--fixed` for the repaired form: torchrun finds the second job a free port.
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


def train() -> None:
    rank = os.environ["RANK"]
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    dist.init_process_group("gloo", timeout=timedelta(seconds=8))
    logging.info("store at port %s", os.environ["MASTER_PORT"])
    loss = torch.tensor(1.0 + int(rank))
    for step in range(3):
        dist.all_reduce(loss)
        logging.info("step %d loss %.1f world_size %d", step, loss.item(), dist.get_world_size())
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

    logging.basicConfig(level=logging.INFO, format="%(asctime)s [launch] %(levelname)s %(message)s")
    # The first job: its store holds a port that the system chose, so that parallel runs do not meet.
    first = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    logging.info("first job holds port %d", first.port)

    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
    command += ["--standalone"] if args.fixed else ["--master-addr=127.0.0.1", f"--master-port={first.port}"]
    logging.info("second job: %s", " ".join(command[1:]))
    return subprocess.run([*command, __file__, "--train"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
