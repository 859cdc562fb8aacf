"""The job of `stall.py` with a barrier that one rank alone calls."""

# ruff: noqa: D103 - a training script
from __future__ import annotations

import stall  # type: ignore[import-not-found]  # beside it
import torch.distributed as dist


def report() -> None:
    if stall.RANK == 0:
        dist.barrier()  # line: collective


if __name__ == "__main__":
    stall.OTHERS["collective"] = report
    stall.main()
