"""How long a digest of 400 MB takes: logs of eight ranks that trained for weeks until one ran out of memory.

    python tests/benchmarks/large_digest.py [--megabytes 400] [--ranks 8] [--runs 9]

Each line differs from all others, in the manner of Megatron-LM's. The first run is not counted: it fills the disk cache
and compiles what is kept between runs.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

START = datetime(2026, 9, 1, 8, tzinfo=timezone.utc)
OUT_OF_MEMORY = """\
[rank{rank}]: Traceback (most recent call last):
[rank{rank}]:   File "/opt/megatron/pretrain_gpt.py", line 312, in <module>
[rank{rank}]:     pretrain(train_valid_test_datasets_provider, model_provider, forward_step)
[rank{rank}]:   File "/opt/megatron/megatron/training/training.py", line 1204, in train_step
[rank{rank}]:     losses_reduced = forward_backward_func(
[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU {rank} has a \
total capacity of 79.11 GiB of which 612.00 MiB is free.
"""
TIMEOUT = (
    "[rank{rank}]:[E1122 09:14:11.123456789 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=81234, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for "
    "600029 milliseconds before timing out.\n"
)


def iteration(number: int, rng: random.Random) -> str:
    """Write what is printed after an iteration."""
    at = START + timedelta(seconds=6 * number)
    return (
        f" [{at:%Y-%m-%d %H:%M:%S}] iteration {number:8d}/ 5000000 | consumed samples: "
        f"{256 * number:12d} | elapsed time per iteration (ms): {rng.uniform(5900, 6100):.1f} | learning rate: "
        f"{1e-4 * (1 - number / 5e6):.6E} | global batch size:   256 | lm loss: "
        f"{2 + 5 / (1 + number / 100) + rng.uniform(-0.05, 0.05):.6E} | loss scale: 1.0 | grad norm: "
        f"{rng.uniform(0.3, 0.5):.3f} | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    )


def write(folder: Path, ranks: int, size: int) -> None:
    """Write the log of each rank, of `size` bytes together."""
    rng = random.Random(24)
    for rank in range(ranks):
        with (folder / f"rank_{rank}.log").open("w", encoding="utf-8") as log:
            log.write(f"[rank{rank}]: using world size: {ranks}, tensor-model-parallel size: 2\ntraining ...\n")
            number = 0
            while log.tell() < size // ranks:
                lines = [iteration(number + one, rng) for one in range(1, 1001)]
                number += len(lines)
                log.write(f"{''.join(lines)}  successfully saved checkpoint from iteration {number:7d} to /ckpt\n")
            log.write((OUT_OF_MEMORY if rank == ranks // 2 + 1 else TIMEOUT).format(rank=rank))


def main() -> None:
    """Write the logs, and print the seconds of each run in order of length."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=400)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--runs", type=int, default=9)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), wanted.ranks, wanted.megabytes * 1_000_000)
        took = []
        for _ in range(wanted.runs + 1):
            begun = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "distkb", "digest", name], stdout=subprocess.DEVNULL, check=False, timeout=300
            )
            took.append(time.perf_counter() - begun)
    seconds = " ".join(f"{one:.2f}" for one in sorted(took[1:]))
    middle = statistics.median(took[1:])
    sys.stdout.write(f"{wanted.megabytes} MB, {wanted.ranks} ranks: median {middle:.2f} s of {seconds}\n")


if __name__ == "__main__":
    main()
