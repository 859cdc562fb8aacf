"""Two ranks that print different versions of one software run in different installations."""

from __future__ import annotations

from pathlib import Path

import built_in
import pytest

from distkb import intake
from distkb.catalogue.places import cache_directory

NAME = "run.versions-differ"


def seen(folder: Path, *ranks: str) -> bool:
    """Whether logs of ranks, one text for each, show versions that differ."""
    for rank, text in enumerate(ranks):
        (folder / f"rank{rank}.log").write_text(text, encoding="utf-8")
    found = intake.read(built_in.catalogue(), [folder], cache_dir=cache_directory()).observations
    return any(one.id == NAME and {quote.rank for quote in one.quotes} == {0, 1} for one in found)


@pytest.mark.parametrize(
    ("first", "other", "differ"),
    [
        ("using torch 2.13.0+cpu\n", "using torch 2.6.0+cpu\n", True),
        ("driver version 535.104.5\n", "driver version: 550.54.14\n", True),
        ("torch==2.13.0\n", "torch==2.13.0\n", False),
        ("listening on 10.0.0.1\n", "listening on 10.0.0.2\n", False),
        ("loss 0.4312\n", "loss 0.5113\n", False),
        ("torch 2.13.0, was torch 2.6.0\n", "torch 2.6.0\n", False),
    ],
)
def test_one_software_in_two_versions(tmp_path: Path, first: str, other: str, *, differ: bool) -> None:
    """An address or a measure is no version, and a rank that names two says nothing."""
    assert seen(tmp_path, first + "starting\n", other + "starting\n") == differ
