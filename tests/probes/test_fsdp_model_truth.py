"""The bytes that the model probe predicts, against those of real ranks on gloo."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from fsdp_models import environment, inspect, project

from distkb_probes.sharding.memory import rows

NAMES = ("uneven", "fsdp1", "fsdp1_flat")
SHAPES = [(13, 8), *([(8,), (8,), (17, 8), (17,), (8, 17)] * 3), (8,), (8,), (13, 8)]
"""The parameters of the model `uneven`."""


@cache
def _predicted() -> dict[tuple[str, int], Any]:
    """Return the bytes per rank that the probe predicts for each model and number of ranks."""
    asked = [(name, ranks) for name in NAMES for ranks in (2, 3, 7)]
    found = inspect([{"model": f"models:{name}", "world_size": ranks} for name, ranks in asked])
    return {key: document["facts"]["per_rank"] for key, document in zip(asked, found, strict=True)}


def _real(ranks: int, out: Path) -> list[dict[str, list[int]]]:
    """Return, for each rank of a real run and each model, the bytes of parameters, gradients and Adam's states."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", f"--master-port={port}"]
    done = subprocess.run(
        [*command, "job.py", str(out)],
        cwd=project(),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads((out / f"{rank}.json").read_text()) for rank in range(ranks)]


@pytest.mark.torchrun
@pytest.mark.parametrize("ranks", [2, 3])
def test_real_ranks_hold_exactly_the_bytes_that_were_predicted(ranks: int, tmp_path: Path) -> None:
    """Parameters and gradients on every rank with their padding, and Adam's states on the most loaded one.

    With `fully_shard` the states of the other ranks follow from their rows; FSDP1 with and without original
    parameters differs in alignment and in what the optimizer sees of the padding.
    """
    real = _real(ranks, tmp_path)
    for name in NAMES:
        built = _predicted()[name, ranks]["built"]
        assert {tuple(rank[name][:2]) for rank in real} == {(built["params"], built["grads"])}, name
        assert max(rank[name][2] for rank in real) == real[0][name][2] == built["optimizer"], name
    for number, rank in enumerate(real):
        assert rank["uneven"][2] == 2 * 4 * sum(rows(shape, ranks, number)[0] for shape in SHAPES)


@pytest.mark.slow
def test_formulas_agree_with_what_was_built() -> None:
    """The strategy table's rows equal the shards that torch makes for the same strategy."""
    assert _predicted()["uneven", 7]["fsdp2"] == _predicted()["uneven", 7]["built"]
    for name in ("fsdp1", "fsdp1_flat"):
        table = _predicted()[name, 7]
        assert [table["full_shard"][kind] for kind in ("params", "grads", "working")] == [
            table["built"][kind] for kind in ("params", "grads", "working")
        ]
