"""Finds the dumps under the paths that a user gave, by name and by their first bytes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_NAME = re.compile(r"(?P<prefix>.*?)(?P<rank>\d{1,7})(?:\.(?:json|pkl|pickle|bin|dump))?", re.DOTALL)
_KNOWN = re.compile(r"(?:nccl_trace|comm_lib_trace|fr_trace|flight_recorder|gloo_trace)_?(?:rank)?_?|(?:.*_)?rank_?")
"""Prefixes under which torch, its scripts and its tutorials write dumps."""
_MARKS = (b"pg_config", b"comm_lib_version", b"nccl_comm_state", b"collective_seq_id", b"pg_status")
_HEAD = 4096
_TAIL = 4096
_MAX_STRANGERS = 400
"""Files of other names that are opened."""
_MAX_FILES = 20_000
_MAX_DEPTH = 4


def rank_of(path: Path) -> int | None:
    """Return the rank that the file's name ends with."""
    found = _NAME.fullmatch(path.name)
    return None if found is None else int(found["rank"])


def prefix_of(path: Path) -> str:
    """Return the file's name without the rank."""
    found = _NAME.fullmatch(path.name)
    return path.name if found is None else found["prefix"]


def find_flight_recorder(paths: Sequence[Path]) -> list[Path]:
    """Return the dumps under the paths; a file whose name says that it is one counts even if it is damaged."""
    found: dict[Path, None] = {}
    strangers = 0
    for path in _candidates(paths):
        if len(found) >= _MAX_FILES:
            break
        named = _KNOWN.fullmatch(prefix_of(path)) is not None
        if not named:
            strangers += 1
            if strangers > _MAX_STRANGERS:
                continue
        if looks_like_dump(path, named=named):
            found.setdefault(path)
    return list(found)


def looks_like_dump(path: Path, *, named: bool = False) -> bool:
    """Return whether the first bytes are those of a dump; for a file that is named like one, whether they can be."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            if not head:
                return named and path.suffix not in (".json", ".log", ".txt")
            if head.lstrip()[:1] == b"{":
                size = os.fstat(file.fileno()).st_size
                file.seek(max(0, size - _TAIL))
                return any(b'"' + mark + b'"' in head + file.read(_TAIL) for mark in _MARKS)
    except OSError:
        return False
    if any(mark in head for mark in _MARKS):
        return head[:1] == b"\x80" or head[:1] in (b"(", b"}", b"]")
    return named and head[:1] == b"\x80"


def _candidates(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from _inside(path, 0)
        elif path.is_file() and rank_of(path) is not None:
            yield path


def _inside(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the numbered files of a folder, then those of the folders in it."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if _NAME.fullmatch(entry.name) is not None and entry.is_file():
            yield folder / entry.name
    if depth < _MAX_DEPTH:
        for entry in entries:
            if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                yield from _inside(folder / entry.name, depth + 1)
