"""Parses stacks as JSON: py-spy's own, one or several in a file, and what `distkb probe stacks --save` writes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from distkb.evidence.readers.stacks.model import MOST_FRAMES, MOST_THREADS, Dump, Frame, Thread
from distkb.evidence.readers.stacks.who import Who, named

SCHEMA = "distkb.stacks/1"
"""Of an object with rank, pid, host, world_size, local_world_size, command, state, cpu; `snapshots` as py-spy's."""
_MOST_SNAPSHOTS = 16
_MOST_TEXT = 1000
_MOST_DAMAGED = 64
"""Documents of one file that break off: each may be read to its end before that is seen."""
_ARRAY = re.compile(r'\[\s*\{\s*"pid"\s*:\s*\d')
_DECODER = json.JSONDecoder()


def parse_json(text: str, path: str, who: Who | None = None) -> list[Dump]:
    """Return the processes in a JSON text; none where it is anything else. Never raises.

    Several of py-spy's documents may follow one another, each behind a header such as `== 4242`.
    """
    base = who or Who()
    stripped = text.lstrip("\ufeff \t\r\n")
    if stripped.startswith("{"):
        try:
            saved = json.loads(stripped)
        except (ValueError, RecursionError):
            return []
        dump = _saved(saved, path, base)
        return [] if dump is None else [dump]
    return list(_arrays(text, path, base))


def from_saved(saved: object, path: str) -> Dump | None:
    """Return the process of one saved document; None for anything else."""
    return _saved(saved, path, Who())


def has_stacks(head: str) -> bool:
    """Whether the beginning of a text is that of py-spy's JSON or of a saved dump."""
    return SCHEMA in head[:200] or _ARRAY.search(head[:4000]) is not None


def _arrays(text: str, path: str, base: Who) -> Iterator[Dump]:
    at = counted = failed = 0
    line = 1
    while (found := _ARRAY.search(text, at)) is not None:
        line += text.count("\n", counted, found.start())
        counted = found.start()
        before = text[max(at, counted - _MOST_TEXT) : counted].strip().rpartition("\n")[2].strip()
        header = named(before.strip("=#- "), header=True) if before else Who()
        try:
            value, at = _DECODER.raw_decode(text, counted)
        except (ValueError, RecursionError) as problem:
            # What was read before the damage is not read once more: a start within it is not the start of a document.
            failed += 1
            at = max(found.end(), getattr(problem, "pos", 0))
            if failed > _MOST_DAMAGED:
                return
            continue
        for pid, threads in _by_pid(value).items():
            yield Dump(
                path=path,
                line=line,
                rank=header.rank if header.rank is not None else base.rank,
                pid=pid if pid is not None else header.pid,
                host=header.host or base.host,
                snapshots=(threads,),
            )


def _saved(saved: object, path: str, base: Who) -> Dump | None:
    if not isinstance(saved, dict) or saved.get("schema") != SCHEMA:
        return None
    snapshots = saved.get("snapshots")
    taken = [_threads(item) for item in snapshots[:_MOST_SNAPSHOTS]] if isinstance(snapshots, list) else []
    rank = _number(saved.get("rank"))
    return Dump(
        path=path,
        rank=base.rank if rank is None else rank,
        pid=_number(saved.get("pid")),
        host=_text(saved.get("host")),
        command=_text(saved.get("command")),
        world_size=_number(saved.get("world_size")),
        local_world_size=_number(saved.get("local_world_size")),
        state=_text(saved.get("state"))[:1],
        cpu=_share(saved.get("cpu")),
        wanted=_share(saved.get("wanted")),
        snapshots=tuple(tuple(threads) for threads in taken),
    )


def _by_pid(value: object) -> dict[int | None, tuple[Thread, ...]]:
    """Return the threads of each process: `py-spy dump --subprocesses` has several in one list."""
    rows = value if isinstance(value, list) else []
    found: dict[int | None, list[Any]] = {}
    for row in rows:
        if isinstance(row, dict):
            found.setdefault(_number(row.get("pid")), []).append(row)
    return {pid: _threads(items) for pid, items in found.items()}


def _threads(rows: object) -> tuple[Thread, ...]:
    if not isinstance(rows, list):
        return ()
    return tuple(_thread(row) for row in rows[:MOST_THREADS] if isinstance(row, dict))


def _thread(row: dict[str, Any]) -> Thread:
    name = _text(row.get("thread_name"))
    active = row.get("active")
    frames = row.get("frames")
    return Thread(
        name=name,
        main=name == "MainThread" or (row.get("os_thread_id") is not None and row["os_thread_id"] == row.get("pid")),
        active=active if isinstance(active, bool) else None,
        frames=tuple(_frame(item) for item in frames[:MOST_FRAMES] if isinstance(item, dict))
        if isinstance(frames, list)
        else (),
    )


def _frame(row: dict[str, Any]) -> Frame:
    path = _text(row.get("filename")) or _text(row.get("short_filename"))
    return Frame(_text(row.get("name")) or "?", path, _number(row.get("line")) or 0, _text(row.get("source")))


def _text(value: object) -> str:
    return value[:_MOST_TEXT] if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 40 else None


def _share(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 1e6 else None
