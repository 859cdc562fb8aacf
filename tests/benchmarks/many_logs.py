"""What a diagnosis of very many logs costs: processor time and memory, and whether it names the rank that failed.

    python tests/benchmarks/many_logs.py [RANKS] [KILOBYTES]

Every rank has a file of its own, with its own losses, pauses and warnings. One raises, the others wait for it in vain.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

BEGAN = datetime(2026, 3, 2, 4, 0, tzinfo=timezone.utc)


def write_run(folder: Path, ranks: int, kilobytes: int, culprit: int) -> None:
    """Write one log for each rank; `culprit` raises and the rest lose it."""
    for rank in range(ranks):
        dice = random.Random(rank)
        host = f"node{rank // 8:04d}"
        lines = [f"{BEGAN:%Y-%m-%d %H:%M:%S} [rank{rank}] INFO {host} rank {rank} of {ranks} uses cuda:{rank % 8}"]
        step, size, clock, loss = 0, 0, BEGAN, 11.0
        while size < kilobytes * 1000:
            step += 1
            clock += timedelta(seconds=dice.uniform(0.8, 1.3))
            loss = loss * 0.9995 + dice.gauss(0, 0.02)
            lines.append(
                f"{clock:%Y-%m-%d %H:%M:%S},{dice.randrange(1000):03d} [rank{rank}] INFO step {step} loss {loss:.4f} "
                f"grad_norm {dice.uniform(0.4, 2.0):.3f} lr {3e-4 * (1 - step / 1e6):.3e} "
                f"tokens/s {dice.randrange(9000, 9900)}"
            )
            if dice.random() < 0.003:
                lines.append(f"{clock:%Y-%m-%d %H:%M:%S},000 [rank{rank}] WARNING shard {dice.randrange(999)} was slow")
            size += len(lines[-1]) + 1
        if rank == culprit:
            lines += [
                f"[rank{rank}]: Traceback (most recent call last):",
                f'[rank{rank}]:   File "/work/pretrain.py", line 211, in <module>',
                f"[rank{rank}]:     main()",
                f'[rank{rank}]:   File "/work/pretrain.py", line 187, in main',
                f"[rank{rank}]:     tokens = batch['tokens'][:, : limits[batch['bucket']]]",
                f"[rank{rank}]: KeyError: 'bucket'",
            ]
        else:
            late = clock + timedelta(seconds=600)
            lines.append(
                f"[rank{rank}]:[E{late:%m%d %H:%M:%S}.000000000 ProcessGroupNCCL.cpp:685] [Rank {rank}] Watchdog "
                f"caught collective operation timeout: WorkNCCL(SeqNum={step * 4}, OpType=ALLREDUCE, NumelIn=25165824, "
                "NumelOut=25165824, Timeout(ms)=600000) ran for 600012 milliseconds before timing out."
            )
        (folder / f"rank{rank:05d}.log").write_text("\n".join(lines) + "\n")


def main() -> None:
    """Write the run, diagnose it once to fill the caches and once to measure, and print both."""
    ranks, kilobytes = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (1024, 200)
    culprit = ranks * 5 // 8 + 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_run(folder, ranks, kilobytes, culprit)
        few = folder / "few"
        few.mkdir()
        write_run(few, 2, 1, 1)
        command = [sys.executable, "-m", "distkb", "diagnose", "--json"]
        subprocess.run([*command, str(few)], check=False, capture_output=True)
        for log in few.iterdir():
            log.unlink()
        few.rmdir()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([*command, str(folder)], check=False, capture_output=True, env=os.environ)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = json.loads(done.stdout)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    failed = [rank["rank"] for rank in answer["ranks"] if rank["state"] == "failed"]
    sys.stdout.write(
        f"{ranks} logs of {kilobytes} kB: {seconds:.1f} s of processor time, {after.ru_maxrss / 1000:.0f} MB\n"
    )
    sys.stdout.write(f"failed: {failed} (rank {culprit} did); first cause {answer['causes'][0]['cause']}\n")


if __name__ == "__main__":
    main()
