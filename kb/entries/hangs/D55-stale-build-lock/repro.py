"""D55: a build that was killed has left its lock behind, and the rank that finds it waits for ever.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import faulthandler
import logging
import os
import signal
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.file_baton import FileBaton

TIMEOUT = timedelta(seconds=5)

log = logging.getLogger("train")


def build_extension(directory: Path) -> dict[str, float]:
    """Builds once and reads what was built, with the lock of `torch.utils.cpp_extension.load`."""
    directory.mkdir(parents=True, exist_ok=True)
    result = directory / "scale.txt"
    baton = FileBaton(str(directory / "lock"))
    if baton.try_acquire():
        try:
            if not result.exists():
                log.info("building the extension in %s", directory)
                result.write_text("0.5")
        finally:
            baton.release()
    else:
        log.info("another process is building in %s", directory)
        baton.wait()
    return {"scale": float(result.read_text())}


def killed_in_the_middle(directory: Path) -> None:
    """Yesterday's job on this node: it takes the lock and is killed before it can give it back."""
    directory.mkdir(parents=True, exist_ok=True)
    child = os.fork()
    if child == 0:
        FileBaton(str(directory / "lock")).try_acquire()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


def train(extension: dict[str, float]) -> None:
    for step in range(1, 4):
        loss = torch.tensor(1.0 / step) * extension["scale"]
        dist.all_reduce(loss)
        log.info("step %d loss %.4f", step, loss.item())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="remove locks of earlier jobs before the build")
    fixed = parser.parse_args().fixed
    rank = int(os.environ["RANK"])
    # Each node has its own disk; only the second one has seen a killed job.
    cache = Path("extensions") / f"node{rank}"
    if rank == 1:
        killed_in_the_middle(cache)

    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    if fixed:
        # Nobody of this job builds yet, so a lock that is here belongs to a job that is gone.
        (cache / "lock").unlink(missing_ok=True)
        dist.barrier()
    faulthandler.dump_traceback_later(3)
    extension = build_extension(cache)
    faulthandler.cancel_dump_traceback_later()
    train(extension)
    log.info("training finished")
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
