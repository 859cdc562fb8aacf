"""D26: rank 0 starts its experiment tracker, whose server does not answer, while the others wait for the first step.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import json
import logging
import socket
import urllib.request
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

TIMEOUT = timedelta(seconds=4)

log = logging.getLogger("train")


class Tracker:
    """A tracker of the usual kind: it announces the run to a server, and asks again until the server answers."""

    def __init__(self, url: str, *, offline: bool) -> None:
        self.path = Path("run-offline.jsonl")
        if offline:
            log.info("tracker: offline, writing to %s", self.path)
            return
        log.info("tracker: starting the run at %s", url)
        for _ in range(30):
            if self.announce(url):
                break

    def announce(self, url: str) -> bool:
        try:
            urllib.request.urlopen(url, timeout=1.0)
        except OSError as error:
            log.warning("tracker: Network error (%s), entering retry loop.", type(error).__name__)
            return False
        return True

    def log(self, **values: float) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(values) + "\n")


def average_gradients(model: nn.Module) -> None:
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def train(tracker: Tracker | None, rank: int) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    for step in range(1, 4):
        inputs = torch.randn(8, 4, generator=torch.Generator().manual_seed(10 * step + rank))
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        loss.backward()
        average_gradients(model)
        log.info("step %d loss %.4f", step, loss.item())
        if tracker is not None:
            tracker.log(step=step, loss=loss.item())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="start the tracker offline")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")

    # A server behind a firewall: the connection is taken, and nothing ever comes back.
    with socket.create_server(("127.0.0.1", 0)) as firewall:
        tracker = None
        if rank == 0:
            tracker = Tracker(f"http://127.0.0.1:{firewall.getsockname()[1]}/runs", offline=fixed)
        train(tracker, rank)
    log.info("training finished")
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
