"""Versions that ranks print of their own software, laid side by side: one that differs is of another installation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from distkb.evidence.run.lines import Lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from distkb.evidence.run.lines import Line
    from distkb.evidence.run.processes import Process

EARLY = 200
"""Lines at the start of what a rank said in which it names its versions."""
_WIDTH = 400
_VERSION = re.compile(
    r"(?i)\b([a-z][a-z_-]{1,30})(?: version)?[ =:]{1,3}v?['\"]?(\d{1,4}\.\d{1,4}\.\d{1,4}[a-z0-9]{0,12})(?![.\d])"
)
"""A name with a version of three numbers: an address has four, a measure two."""


def versions_apart(
    processes: Sequence[Process], said: Mapping[str, Sequence[Line]]
) -> tuple[tuple[Process, Line], ...]:
    """Return the lines of two ranks that name one software in two versions, each rank in one only; else none."""
    first: dict[str, tuple[str, Process, Line]] = {}
    for process in processes:
        own: dict[str, dict[str, Line]] = {}
        for line in Lines.given(said.get(process.key, ())[:EARLY]).where(_names_version):
            for name, version in _VERSION.findall(line.text[:_WIDTH]):
                own.setdefault(name.lower(), {}).setdefault(version.lower(), line)
        for name, versions in own.items():
            if len(versions) != 1:
                continue
            [(version, line)] = versions.items()
            known = first.setdefault(name, (version, process, line))
            if known[0] != version and known[1].rank != process.rank:
                return (known[1], known[2]), (process, line)
    return ()


def _names_version(text: str) -> bool:
    return _VERSION.search(text[:_WIDTH]) is not None
