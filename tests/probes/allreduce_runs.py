"""Starts the smoke test as it is started for users, and finds its ranks while it runs."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROBES = Path(__file__).resolve().parents[2] / "probes" / "distkb_probes"
WAIT_S = 120.0


def environment(tmp: Path) -> dict[str, str]:
    """Return an environment in which temporary files are the test's own."""
    launcher = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    kept = {k: v for k, v in os.environ.items() if k not in launcher and not k.startswith(("SLURM_", "TORCHELASTIC"))}
    return {**kept, "TMPDIR": str(tmp), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


@contextmanager
def started(request: Mapping[str, Any], tmp: Path, python: str = sys.executable) -> Iterator[subprocess.Popen[bytes]]:
    """Start a smoke test; what is left of it is ended."""
    process = subprocess.Popen(
        [python, str(PROBES), "allreduce", json.dumps(request)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(tmp),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def document(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Wait for the raw document."""
    printed, _ = process.communicate(timeout=WAIT_S)
    held: dict[str, Any] = json.loads(printed)
    return held


def rank_pid(tmp: Path, rank: int, stage: str) -> int:
    """Wait until a rank has entered a stage; returns its process id."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        for path in tmp.glob(f"**/distkb-allreduce-*/rank-{rank}.jsonl"):
            marks = [json.loads(line) for line in path.read_text().splitlines()]
            if any(mark.get("stage") == stage for mark in marks):
                return next(int(mark["pid"]) for mark in marks if mark["kind"] == "who")
        time.sleep(0.01)
    raise TimeoutError(f"rank {rank} has not reached {stage}")


def found(held: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the findings by id."""
    return {item["id"]: item for item in held["found"]}


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])
