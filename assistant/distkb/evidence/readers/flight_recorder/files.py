"""Finds the dumps under the paths that a user gave, by name and by their first bytes."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from distkb.evidence.text.opening import UnreadableError, open_regular
from distkb.evidence.walk import RECORDED

_NAMES = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"(?:.*[^A-Za-z])?(?:rank|RANK|Rank)[_\-.]?(?P<rank>\d{1,7})(?:\D.*)?",  # rank3_node0.pkl
        r".*?(?P<rank>\d{1,7})(?:[_\-]?of[_\-]?\d{1,7})?(?:\.[A-Za-z]\w{0,9}){0,2}",  # 00003.fr, trace_3_of_8
        r"(?P<rank>\d{1,7})[_\-.][A-Za-z].*",  # 3_trace.pickle
        r"(?:.*[^A-Za-z])?[rR](?P<rank>\d{1,7})(?:\D.*)?",  # job7_r3_last.pkl
    )
)
"""Where the rank stands in the name of a file: where it is called so, at the end, at the beginning."""
_FOLDER = re.compile(r"(?:(?:rank|RANK|Rank|r)[_\-.]?)?(?P<rank>\d{1,7})")
"""The folder of files without a number in their names bears the rank: `rank_3/trace.pkl`."""
_TEXTS = frozenset({
    "log", "txt", "out", "err", "stdout", "stderr", "csv", "tsv", "md", "rst", "htm", "html", "xml",
    "yaml", "yml", "toml", "ini", "cfg", "conf", "py", "pyi", "sh", "ipynb", "c", "cc", "cpp",
    "cu", "h", "hpp", "jsonl", "lock", "service", "sbatch", "slurm", "diff", "patch",
})  # fmt: skip
"""Suffixes of files that are no dumps, whatever their number."""
_USUAL = re.compile(r"(?P<prefix>.*?)\d{1,7}(?:\.(?:json|pkl|pickle|bin|dump))?", re.DOTALL)
_KNOWN = re.compile(r"(?:nccl_trace|comm_lib_trace|fr_trace|flight_recorder|gloo_trace)_?(?:rank)?_?|(?:.*_)?rank_?")
"""Prefixes under which torch, its scripts and its tutorials write dumps."""
_HEAD = 4096
_TAIL = 4096
MAX_STRANGERS = 400
"""Files of other names that are opened."""


class _Rank(NamedTuple):
    """What the name of a file says: the rank, and what the files of one run share."""

    rank: int
    rest: str


def _read_name(path: Path) -> _Rank | None:
    name = path.name
    if not _TEXTS.isdisjoint(name.lower().split(".")[1:][-2:]):
        return None
    for pattern in _NAMES:
        found = pattern.fullmatch(name)
        if found is not None:
            return _Rank(int(found["rank"]), name[: found.start("rank")] or name[found.end("rank") :])
    found = None if re.search(r"\d", name) else _FOLDER.fullmatch(path.parent.name)
    return None if found is None else _Rank(int(found["rank"]), name)


def rank_of(path: Path) -> int | None:
    """Return the rank of the file by its name, or by its folder's."""
    found = _read_name(path)
    return None if found is None else found.rank


def prefix_of(path: Path) -> str:
    """Return the file's name without the rank."""
    found = _read_name(path)
    return path.name if found is None else found.rest


def is_named(path: Path) -> bool:
    """Whether torch, or a tutorial, gives a dump such a name."""
    found = _USUAL.fullmatch(path.name)
    return found is not None and _KNOWN.fullmatch(found["prefix"]) is not None


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
                return any(b'"' + mark + b'"' in head + file.read(_TAIL) for mark in RECORDED)
    except (OSError, UnreadableError):
        return False
    if any(mark in head for mark in RECORDED):
        return head[:1] == b"\x80" or head[:1] in (b"(", b"}", b"]")
    return named and head[:1] == b"\x80"
