"""D44: one node has an older version of the model's package, and cannot read what the other sends.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]

Each rank plays a node: its packages lie in `node<rank>/site-packages`, as if two images had been built a month apart.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

TIMEOUT = timedelta(seconds=8)
STEPS = 4

OLD = """
__version__ = "1.9.2"


class Config:
    def __init__(self, width):
        self.width = width
"""
NEW = """
__version__ = "2.0.0"


class RopeScaling:
    def __init__(self, factor):
        self.factor = factor


class Config:
    def __init__(self, width):
        self.width = width
        self.rope = RopeScaling(8.0)
"""

log = logging.getLogger("train")


def site_packages(rank: int, fixed: bool) -> Path:
    """Write what pip installed on this node and return the folder."""
    folder = Path(f"node{rank}") / "site-packages"
    package = folder / "modellib"
    package.mkdir(parents=True, exist_ok=True)
    # Node 0 was rebuilt yesterday; node 1 has the image of last month unless both come from one lock file.
    (package / "__init__.py").write_text(NEW if rank == 0 or fixed else OLD)
    return folder


def compare_versions(mine: dict[str, str]) -> None:
    """Stop with one line where the ranks do not have the same packages. Sends strings only."""
    everyone: list[dict[str, str] | None] = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, mine)
    if any(other != mine for other in everyone):
        message = f"versions differ between ranks: {everyone}"
        raise RuntimeError(message)
    log.info("all %d ranks have %s", len(everyone), mine)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="one image for both nodes, and a check of the versions")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    sys.path.insert(0, str(site_packages(rank, fixed).resolve()))
    modellib = importlib.import_module("modellib")

    dist.init_process_group("gloo", timeout=TIMEOUT)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    log.info("torch %s, modellib %s", torch.__version__, modellib.__version__)
    if fixed:
        compare_versions({"torch": torch.__version__, "modellib": modellib.__version__})

    # Rank 0 read the configuration; everybody builds the model from it.
    box = [modellib.Config(width=16) if rank == 0 else None]
    dist.broadcast_object_list(box)
    config = box[0]

    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(config.width, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(1, STEPS + 1):
        inputs = torch.randn(8, config.width)
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())
    log.info("training finished")
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
