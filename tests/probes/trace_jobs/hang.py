"""A small DDP job in which the rank and the place named in HANG_* stop for good."""

# ruff: noqa: TID253 - a training script imports torch
from __future__ import annotations

import atexit
import os
import threading

from distkb_probes import trace

trace.start(quiet_s=float(os.environ.get("HANG_QUIET", "2")))

import torch  # noqa: E402 - the tracer wraps what is imported after it
import torch.distributed as dist  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

RANK, PLACE = os.environ.get("HANG_RANK", ""), os.environ.get("HANG_PLACE", "")


def here(place: str) -> None:
    """Never return where this rank is to stop."""
    if RANK in (os.environ["RANK"], "all") and place == PLACE:
        threading.Event().wait()


def main() -> None:
    """Train a little, then save and meet."""
    here("start")
    dist.init_process_group("gloo")
    trace.mark("joined")
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    here("before forward")
    for _ in range(3):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), os.path.join(os.environ["HANG_DIR"], "model.pt"))  # noqa: PTH118
    with trace.span("evaluate"):
        here("evaluate")
    if PLACE == "fail" and dist.get_rank() == 1:
        raise ValueError("a bad shard")
    dist.barrier()
    dist.destroy_process_group()
    atexit._run_exitfuncs()  # with the tracer's
    os._exit(0)  # not through the interpreter's end, where torch 2.13 may abort: pytorch#190489


main()
