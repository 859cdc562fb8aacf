"""Reads dumps rank by rank: the document of a file lives only until its columns are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from distkb.evidence.observation import Skipped
from distkb.evidence.readers.flight_recorder.dump import NotADumpError, RankDump, Tables, build
from distkb.evidence.readers.flight_recorder.files import prefix_of, rank_of
from distkb.evidence.readers.flight_recorder.pickle_stream import (
    BadPickleError,
    Stream,
    TooLongError,
    UnsafePickleError,
)
from distkb.evidence.readers.flight_recorder.runs import Alike
from distkb.evidence.text.opening import UnreadableError, open_regular

MAX_BYTES = 64 << 20
"""Of one dump: 2,000 entries take 0.3 to 3 MB."""
_MAX_VALUES = 4_000_000
"""Of a document in JSON, as many as 2,000 entries hold fifteen times over with all their frames."""


class Loaded(NamedTuple):
    """All dumps that could be read."""

    dumps: dict[int, RankDump]
    tables: Tables
    skipped: tuple[Skipped, ...]
    bytes_read: int
    damaged: frozenset[int]
    """Ranks whose file is there and could not be read."""


def load(paths: Sequence[Path]) -> Loaded:
    """Read the dumps; of two for one rank the one that more other ranks' names match counts, then the newer one."""
    tables = Tables()
    dumps: dict[int, RankDump] = {}
    skipped: list[Skipped] = []
    damaged: set[int] = set()
    size = 0
    alike = Alike()
    with _no_collector():
        for rank, path in _one_a_rank(paths, skipped):
            read = _read(path, rank, tables, alike)
            if isinstance(read, Skipped):
                skipped.append(read)
                damaged.add(rank)
                continue
            dumps[rank] = read[0]
            size += read[1]
    return Loaded(dumps, tables, tuple(skipped), size, frozenset(damaged) - dumps.keys())


@contextmanager
def _no_collector() -> Iterator[None]:
    """Hold back the cyclic garbage collector: containers by the million and no cycle among them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _one_a_rank(paths: Sequence[Path], skipped: list[Skipped]) -> list[tuple[int, Path]]:
    """Choose one file for every rank, and say which were left out."""
    prefixes: dict[str, int] = {}
    for path in paths:
        prefixes[prefix_of(path)] = prefixes.get(prefix_of(path), 0) + 1
    chosen: dict[int, Path] = {}
    for path in sorted(paths, key=lambda path: (-prefixes[prefix_of(path)], -_changed(path), str(path))):
        rank = rank_of(path)
        if rank is None:
            skipped.append(Skipped(path=str(path), code="no-rank"))
        elif rank in chosen:
            skipped.append(Skipped(path=str(path), code="same-rank", detail=str(chosen[rank])))
        else:
            chosen[rank] = path
    return sorted(chosen.items())


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _read(path: Path, rank: int, tables: Tables, alike: Alike) -> tuple[RankDump, int] | Skipped:
    where = str(path)
    data = _bytes(path)
    if isinstance(data, Skipped):
        return data
    try:
        stream = None if data.lstrip()[:1] == b"{" else Stream(data, alike)
        document = _json(data) if stream is None else stream.load()
        return build(document, stream, tables, rank, where), len(data)
    except UnsafePickleError:
        return Skipped(path=where, code="unsafe-pickle")
    except TooLongError:
        return Skipped(path=where, code="too-long-dump")
    except NotADumpError as why:
        return Skipped(path=where, code="too-long-dump" if why.args else "no-dump")
    except (BadPickleError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, MemoryError):
        return Skipped(path=where, code="damaged-dump")


def _json(data: bytes) -> Any:
    if data.count(b",") + data.count(b"[") + 3 * data.count(b"{") > _MAX_VALUES:
        raise TooLongError
    return msgspec.json.decode(data)


def _bytes(path: Path) -> bytes | Skipped:
    try:
        with open_regular(path) as file:
            data = file.read(MAX_BYTES + 1)
    except UnreadableError as error:
        return Skipped(path=str(path), code=error.code, detail=error.detail)
    except OSError as problem:
        return Skipped(path=str(path), code="unreadable", detail=problem.strerror or "")
    if not data:
        return Skipped(path=str(path), code="empty")
    if len(data) > MAX_BYTES:
        return Skipped(path=str(path), code="too-large-dump", detail=f"{MAX_BYTES >> 20} MiB")
    return data
