"""MN3: the kernel kills a rank on node 1, and all that node 0 ever reports is a collective timeout.

python repro.py [--fixed]

Two torchrun agents on this machine stand for two nodes; `node0.log` and `node1.log` are what each of them printed.
The timeout is 5 s here and 10 minutes (NCCL) or 30 (gloo) by default.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import subprocess
import sys
import time
from collections import deque
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

STEPS = 8
SLOW_IMAGE = 6
LIMIT_BYTES = 5 << 20
"""The memory limit of node 1's container."""

log = logging.getLogger("train")


class Images(Dataset[torch.Tensor]):
    """Decoded images; the loader's worker is a process of its own, forked from the rank."""

    def __len__(self) -> int:
        return STEPS

    def __getitem__(self, index: int) -> torch.Tensor:
        if index == SLOW_IMAGE:
            time.sleep(9)  # storage answers late: this worker outlives its rank, and keeps the rank's sockets open
        return torch.full((512, 512), float(index)) / 512


def kernel_looks(used: int) -> None:
    """Kill this process where the kernel would: no handler runs and nothing is printed."""
    if used > LIMIT_BYTES:
        os.kill(os.getpid(), signal.SIGKILL)


def train(fixed: bool) -> None:
    dist.init_process_group("gloo", timeout=timedelta(seconds=5))
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(512, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    seen: deque[torch.Tensor] = deque(maxlen=2 if fixed or rank == 0 else None)  # without a bound it keeps every image
    loader = iter(DataLoader(Images(), batch_size=None, num_workers=1, multiprocessing_context="fork"))
    for step in range(1, STEPS + 1):
        seen.append(next(loader))
        kernel_looks(sum(image.nbytes for image in seen))
        loss = model(seen[-1]).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())
    log.info("training finished")
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


def start_node(node: int, port: int, fixed: bool) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1"]
    command += ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", "--rdzv-id=job-42"]
    command += ["--rdzv-conf=is_host=0", "--local-addr=127.0.0.1", __file__, "--train", *(["--fixed"] if fixed else [])]
    with Path(f"node{node}.log").open("wb") as output:
        return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true", help="bound the cache of the rank that was killed")
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.train:
        torch.set_num_threads(1)
        train(args.fixed)
        return 0
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # the rendezvous of the two agents
    nodes = [start_node(node, store.port, args.fixed) for node in range(2)]
    try:
        return max(abs(node.wait(timeout=60)) for node in nodes)
    finally:
        for node in nodes:
            if node.poll() is None:
                node.kill()


if __name__ == "__main__":
    sys.exit(main())
