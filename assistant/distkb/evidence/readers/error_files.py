"""What torchrun itself left behind: its table of failed processes and the workers' error files."""

from __future__ import annotations

import re
import signal

import msgspec

from distkb.evidence.text.lines import Stamp, find_stamp

MAX_ERROR_FILE = 1 << 20
"""Bytes of an error.json that are read."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """One process in torchrun's table."""

    rank: int
    local_rank: int | None
    exitcode: int
    signal: str
    """Name such as SIGKILL; empty where the process exited by itself."""
    stamp: Stamp | None
    host: str
    pid: int | None = None
    root: bool
    """True for the one that torchrun saw failing first."""
    at: int
    """Index of its exitcode line in the text that was parsed."""
    line: str
    """That line."""


class ErrorFile(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker decorated with `record` wrote about its exception."""

    message: str
    traceback: str
    timestamp: float | None


_ROW = re.compile(r"(?P<key>time|host|rank|exitcode)\s{0,16}: (?P<value>.*)$")
_RANK = re.compile(r"(\d{1,9})(?: \(local_rank: (\d{1,9})\))?")
_EXIT = re.compile(r"(-?\d{1,10}) +\(pid: (\d{1,10})\) *(?:\((SIG[A-Z0-9]+)\))?")
_ROOT = "Root Cause (first observed failure)"


def parse_table(text: str) -> list[Failure]:
    """Read the processes of torchrun's failure table, the first failure first."""
    failures: list[Failure] = []
    row: dict[str, str] = {}
    root = False
    for index, line in enumerate(text.split("\n")):
        if _ROOT in line:
            root = True
        found = _ROW.search(line)
        if found is None:
            continue
        if found["key"] == "time":
            row = {}
        row[found["key"]] = found["value"].strip()
        if found["key"] == "exitcode" and (failure := _failure(row, line, index, root=root)) is not None:
            failures.append(failure)
            row = {}
    return sorted(failures, key=lambda failure: not failure.root)


def _failure(row: dict[str, str], line: str, index: int, *, root: bool) -> Failure | None:
    rank = _RANK.match(row.get("rank", ""))
    code = _EXIT.match(row["exitcode"])
    if rank is None or code is None:
        return None
    return Failure(
        rank=int(rank[1]),
        local_rank=int(rank[2]) if rank[2] else None,
        exitcode=int(code[1]),
        pid=int(code[2]),
        signal=code[3] or _signal_name(int(code[1])),
        stamp=find_stamp(row.get("time", "")),
        host=row.get("host", ""),
        root=root,
        at=index,
        line=line,
    )


def _signal_name(exitcode: int) -> str:
    """Name of the signal that a negative exit code stands for: older versions print the number alone."""
    try:
        return signal.Signals(-exitcode).name if exitcode < 0 else ""
    except ValueError:
        return ""


def parse_error_file(data: bytes) -> ErrorFile | None:
    """Read a worker's error.json; None where it is something else."""
    try:
        content = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    message = content.get("message") if isinstance(content, dict) else None
    if isinstance(message, str):
        return ErrorFile(message=message, traceback="", timestamp=_number(content.get("timestamp")))
    if not isinstance(message, dict):
        return None
    extra = message.get("extraInfo")
    extra = extra if isinstance(extra, dict) else {}
    return ErrorFile(
        message=str(message.get("message", "")),
        traceback=str(extra.get("py_callstack", "")),
        timestamp=_number(extra.get("timestamp")),
    )


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None
