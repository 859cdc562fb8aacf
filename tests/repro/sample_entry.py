"""A knowledge base of one entry whose program a test writes."""

from __future__ import annotations

import re
from pathlib import Path

SOUND = Path(__file__).parents[1] / "catalogue" / "data" / "sound" / "entries" / "hangs" / "D2-quiet-rank"
ENTRY = "ACME1"
LOST = "acme: rank 1 never arrived"
"""The line by which the sample entry is recognised."""


def overlay(directory: Path, program: str, repro: str = "launch: python", *, recorded: str | None = None) -> Path:
    """Write the entry with its program and its `repro:` block; returns the directory of the knowledge base."""
    text = (SOUND / "entry.yaml").read_text(encoding="utf-8")
    for old, new in (("D2", ENTRY), ("demo.rank-lost", "acme.rank-lost"), ("demo: rank", "acme: rank")):
        text = text.replace(old, new)
    text = re.sub(r"(?ms)^repro:.*\Z", "", text)
    rows = [f"  {line}" for line in repro.splitlines()]
    text += "repro:\n  seconds: 10\n  shows: [acme.rank-lost]\n" + "\n".join(rows) + "\n"
    home = directory / "overlay" / "entries" / "hangs" / f"{ENTRY}-quiet-rank"
    home.mkdir(parents=True)
    (home / "entry.yaml").write_text(text, encoding="utf-8")
    if recorded is None:
        (home / "repro.py").write_text(program, encoding="utf-8")
    else:
        (home / "recorded").mkdir()
        (home / "recorded" / "console.log").write_text(recorded, encoding="utf-8")
    return directory / "overlay"


def with_program(base: Path, program: str) -> Path:
    """Give the entry of an overlay another program: what was compiled of its texts stays true, which takes seconds."""
    next(base.rglob("repro.py")).write_text(program, encoding="utf-8")
    return base
