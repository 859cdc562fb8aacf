"""Directories that every rank named for itself."""

from __future__ import annotations

import pytest
from run_samples import derived, scan


def missing(rank: int, path: str) -> str:
    """The error of a rank that looks for a file."""
    lines = [
        "Traceback (most recent call last):",
        '  File "/home/user/train.py", line 45, in main',
        "    state = torch.load(path)",
        f"FileNotFoundError: [Errno 2] No such file or directory: '{path}'",
    ]
    return "".join(f"[rank{rank}]: {line}\n" for line in lines)


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("runs/gru-acb7a1bc/best/model.bin", "runs/gru-1dae7cd9/best/model.bin", True),
        ("runs/2026-11-28_09-26-37/last.pt", "runs/2026-11-28_09-26-38/last.pt", True),
        ("runs/20261128-e1d711/step_000090/.metadata", "runs/20261128-3588c5/step_000090/.metadata", True),
        ("runs/gru-acb7a1bc/best/model.bin", "runs/gru-acb7a1bc/best/model.bin", False),
        ("runs/step_000090/.metadata", "runs/step_000060/.metadata", False),
        ("runs/rank0/model.bin", "runs/rank1/model.bin", False),
        ("runs/gru-acb7a1bc/best/model.bin", "runs/gru-1dae7cd9/last/model.bin", False),
    ],
)
def test_a_file_that_two_ranks_look_for_in_directories_of_their_own(one: str, other: str, apart: bool) -> None:
    """The paths are one but for a part that a time or chance has made; steps and numbers of ranks are no such part."""
    result = derived(scan(missing(1, one), "rank_1.log", 1), scan(missing(2, other), "rank_2.log", 2))
    assert ("run.own-directories" in {o.id for o in result.observations}) is apart


def test_one_rank_may_have_looked_twice() -> None:
    """A rank that was started again has another directory and is still one rank."""
    text = missing(1, "runs/gru-acb7a1bc/a.pt") + missing(1, "runs/gru-1dae7cd9/a.pt")
    result = derived(scan(text, "rank_1.log", 1))
    assert "run.own-directories" not in {o.id for o in result.observations}
