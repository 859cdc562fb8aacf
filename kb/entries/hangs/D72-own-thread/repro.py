"""D72: the writer's thread skips a checkpoint without marking it as done, and rank 0 waits for its own queue for ever.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import faulthandler
import logging
import os
import queue
import threading
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

TIMEOUT = timedelta(seconds=6)

log = logging.getLogger("train")


class Writer:
    """Writes the best state in the background."""

    def __init__(self, path: Path, *, fixed: bool) -> None:
        self.path, self.fixed = path, fixed
        self.best = float("inf")
        self.pending: queue.Queue[tuple[float, torch.Tensor]] = queue.Queue()
        threading.Thread(target=self.work, name="writer", daemon=True).start()

    def work(self) -> None:
        while True:
            loss, weight = self.pending.get()
            if loss >= self.best:
                if self.fixed:
                    self.pending.task_done()
                continue
            self.best = loss
            torch.save(weight, self.path)
            self.pending.task_done()

    def flush(self) -> None:
        self.pending.join()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="count the checkpoints that are skipped as done")
    fixed = parser.parse_args().fixed
    rank = int(os.environ["RANK"])

    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    faulthandler.dump_traceback_later(3)
    writer = Writer(Path("best.pt"), fixed=fixed) if rank == 0 else None
    weight = torch.ones(4)
    for epoch, level in enumerate((0.9, 0.7, 0.8)):
        loss = torch.tensor(level)
        dist.all_reduce(loss, op=dist.ReduceOp.MAX)
        log.info("epoch %d loss %.4f", epoch, loss.item())
        if writer is not None:
            writer.pending.put((loss.item(), weight.clone()))
            writer.flush()
        dist.barrier()
    faulthandler.cancel_dump_traceback_later()
    log.info("training finished")
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
