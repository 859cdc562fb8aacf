"""D73: every rank sends its block to the next one before it receives, so that nobody comes to its recv.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import faulthandler
import logging
import os
from datetime import timedelta

import torch
import torch.distributed as dist

TIMEOUT = timedelta(seconds=6)

log = logging.getLogger("train")


def shift(block: torch.Tensor, rank: int, world: int, *, fixed: bool) -> torch.Tensor:
    """Hands the block to the next rank of the ring and returns the one of the previous rank."""
    incoming = torch.empty_like(block)
    after, before = (rank + 1) % world, (rank - 1) % world
    if fixed:
        operations = [dist.P2POp(dist.isend, block, after), dist.P2POp(dist.irecv, incoming, before)]
        for request in dist.batch_isend_irecv(operations):
            request.wait()
    else:
        dist.send(block, after)
        dist.recv(incoming, before)
    return incoming


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="start both directions of the exchange together")
    fixed = parser.parse_args().fixed
    rank = int(os.environ["RANK"])

    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    world = dist.get_world_size()
    block = torch.full((64, 64), float(rank))
    faulthandler.dump_traceback_later(3)
    for step in range(1, world + 1):
        block = shift(block, rank, world, fixed=fixed)
        log.info("step %d block of rank %d", step, int(block[0, 0].item()))
    faulthandler.cancel_dump_traceback_later()
    log.info("training finished")
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
