"""Finds the dumps under the paths that a user gave, by name and by their first bytes."""

from __future__ import annotations

import os
import re
from pathlib import Path

from distkb.evidence.text.opening import UnreadableError, open_regular

_NAME = re.compile(r"(?P<prefix>.*?)(?P<rank>\d{1,7})(?:\.(?:json|pkl|pickle|bin|dump))?", re.DOTALL)
_KNOWN = re.compile(r"(?:nccl_trace|comm_lib_trace|fr_trace|flight_recorder|gloo_trace)_?(?:rank)?_?|(?:.*_)?rank_?")
"""Prefixes under which torch, its scripts and its tutorials write dumps."""
_MARKS = (b"pg_config", b"comm_lib_version", b"nccl_comm_state", b"collective_seq_id", b"pg_status")
_HEAD = 4096
_TAIL = 4096
MAX_STRANGERS = 400
"""Files of other names that are opened."""


def rank_of(path: Path) -> int | None:
    """Return the rank that the file's name ends with."""
    found = _NAME.fullmatch(path.name)
    return None if found is None else int(found["rank"])


def prefix_of(path: Path) -> str:
    """Return the file's name without the rank."""
    found = _NAME.fullmatch(path.name)
    return path.name if found is None else found["prefix"]


def is_named(path: Path) -> bool:
    """Whether torch, or a tutorial, gives a dump such a name."""
    return _KNOWN.fullmatch(prefix_of(path)) is not None


def looks_like_dump(path: Path, *, named: bool = False) -> bool:
    """Return whether the first bytes are those of a dump; for a file that is named like one, whether they can be."""
    try:
        with open_regular(path) as file:
            head = file.read(_HEAD)
            if not head:
                return named and path.suffix not in (".json", ".log", ".txt")
            if head.lstrip()[:1] == b"{":
                size = os.fstat(file.fileno()).st_size
                file.seek(max(0, size - _TAIL))
                return any(b'"' + mark + b'"' in head + file.read(_TAIL) for mark in _MARKS)
    except (OSError, UnreadableError):
        return False
    if any(mark in head for mark in _MARKS):
        return head[:1] == b"\x80" or head[:1] in (b"(", b"}", b"]")
    return named and head[:1] == b"\x80"
