"""Puts together what each process of the run printed, whichever files it is spread over."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.lines import Head, Stamp, head
from distkb.evidence.scan import Excerpt, FileScan, Hit
from distkb.evidence.traceback import Chain, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HEADS = 300
"""Lines of a file's start and of its end by which it is told who wrote it."""
TAIL = 400
"""Lines of each process's end that are looked at."""


class Line(msgspec.Struct, frozen=True):
    """One line of a process's end."""

    text: str
    """Without the launcher's tags."""
    path: str
    number: int
    stamp: Stamp | None


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """A traceback with its place."""

    chain: Chain
    path: str
    line: int
    """Number of its first line."""
    numbers: tuple[int, ...] = ()
    stamp: Stamp | None = None
    """Of the last line before it that had a time."""
    texts: tuple[str, ...] = ()
    order: int = 0

    def line_of(self, index: int) -> int:
        """Line number in the file of a line of the parsed text."""
        return self.line + max(0, index)


class Process(msgspec.Struct, kw_only=True):
    """One process of the run, as far as its output shows it."""

    key: str
    rank: int | None
    hits: list[tuple[FileScan, Hit]] = []
    traces: list[Trace] = []
    tail: list[Line] = []
    whole: bool = False
    """True where a file holds this process's output alone, so that an end is an end."""
    printed: bool = False


class Run(msgspec.Struct, kw_only=True):
    """Everything read, by process."""

    processes: list[Process] = []
    launcher: list[Trace] = []
    """Tracebacks of the launcher itself."""
    scans: list[FileScan] = []
    attempt: int | None = None

    @property
    def ranked(self) -> list[Process]:
        """Processes whose rank is known, in order of rank."""
        known = [process for process in self.processes if process.rank is not None]
        return sorted(known, key=lambda process: process.rank or 0)


def assemble(scans: Sequence[FileScan]) -> Run:
    """Sort the content of all files by process.

    Where torchrun restarted the workers, only the first attempt with an error is taken: later ones often
    fail for reasons that the first one left behind.
    """
    attempt = _attempt(scans)
    chosen = [scan for scan in scans if scan.file.attempt in {None, attempt}]
    run = Run(scans=list(chosen), attempt=attempt)
    collide = _colliding(chosen)
    processes: dict[str, Process] = {}
    for scan in chosen:
        _sort(scan, run, processes, collide)
    run.processes = [process for process in processes.values() if process.key != "launcher"]
    for process in run.processes:
        process.traces.sort(key=lambda trace: trace.order)
    return run


def _attempt(scans: Sequence[FileScan]) -> int | None:
    attempts = sorted({scan.file.attempt for scan in scans if scan.file.attempt is not None})
    for attempt in attempts:
        if any((scan.hits or scan.excerpts) for scan in scans if scan.file.attempt == attempt):
            return attempt
    return attempts[-1] if attempts else None


def _colliding(scans: Sequence[FileScan]) -> bool:
    """Whether several machines' trees use the same local ranks for different processes."""
    groups = {scan.file.group for scan in scans if scan.file.local}
    return len(groups) > 1


class _Owner:
    """Tells which process printed a line of one file."""

    def __init__(self, scan: FileScan, *, collide: bool) -> None:
        self._file = scan.file
        sample = scan.start.split("\n")[:HEADS] + scan.end.split("\n")[-HEADS:]
        heads = [head(line) for line in sample if line.strip()]
        strong = Counter(h.rank for h in heads if h.rank is not None)
        weak = Counter(h.weak for h in heads if h.weak is not None)
        common = strong.most_common(1)[0][0] if strong else None
        self.console = False
        self.weak = False
        self.rank: int | None = scan.file.rank
        if scan.file.rank is not None:
            if (scan.file.local and common is not None and len(strong) == 1) or collide:
                self.rank = common if len(strong) == 1 else None
        elif len(weak) > 1 and _labelled(heads):
            self.console = self.weak = True
        elif len(strong) > 1:
            self.console = True
        elif not strong and len(weak) > 1 and sum(weak.values()) > 0.6 * len(heads):
            self.console = self.weak = True
        elif common is not None:
            # lines without a rank beside those of one rank: a console, unless nearly all lines carry it
            self.console = strong[common] < 0.5 * len(heads)
            self.rank = None if self.console else common
        self.key = (
            f"rank {self.rank}"
            if self.rank is not None
            else f"{scan.file.group}/{scan.file.rank if scan.file.rank is not None else scan.file.name}"
        )

    def of(self, rank: int | None, weak: int | None, source: str) -> tuple[str, int | None]:
        """Key and rank of the process that printed a line with this head."""
        if not self.console:
            return self.key, self.rank
        number = rank if rank is not None else (weak if self.weak else None)
        if number is not None:
            return f"rank {number}", number
        return (f"{self._file.name} {source}" if source else f"{self._file.name}"), None


def _labelled(heads: Sequence[Head]) -> bool:
    """Whether nearly all lines carry a number, as under `srun --label`, that is the rank wherever both are printed."""
    both = [h for h in heads if h.rank is not None and h.weak is not None]
    numbered_heads = sum(h.weak is not None for h in heads)
    return bool(both) and numbered_heads > 0.6 * len(heads) and all(h.rank == h.weak for h in both)


def _sort(scan: FileScan, run: Run, processes: dict[str, Process], collide: bool) -> None:
    owner = _Owner(scan, collide=collide)

    def process(key: str, rank: int | None) -> Process:
        found = processes.setdefault(key, Process(key=key, rank=rank))
        found.whole = found.whole or not owner.console
        return found

    if not owner.console and scan.size == 0:
        process(owner.key, owner.rank)
    for hit in scan.hits:
        key, rank = owner.of(hit.rank, hit.weak, hit.source)
        process(key, rank).hits.append((scan, hit))
    for trace in traces_of(scan):
        begin = head(trace.texts[0] if trace.texts else "")
        key, rank = owner.of(begin.rank, begin.weak, begin.source)
        if trace.chain.launcher:
            run.launcher.append(trace)
            continue
        if rank is None and trace.chain.spawned is not None:
            key, rank = f"rank {trace.chain.spawned}", trace.chain.spawned
        process(key, rank).traces.append(trace)
    _tails(scan, owner, process)


def _tails(scan: FileScan, owner: _Owner, process: object) -> None:
    assert callable(process)  # noqa: S101
    stamped: dict[str, Stamp | None] = {}
    lines: dict[str, list[Line]] = {}
    ranks: dict[str, int | None] = {}
    for number, text in numbered(scan.end, scan.end_line):
        if not text.strip():
            continue
        begin = head(text)
        key, rank = owner.of(begin.rank, begin.weak, begin.source)
        stamped[key] = begin.stamp or stamped.get(key)
        ranks[key] = rank
        lines.setdefault(key, []).append(Line(text[begin.body :], scan.file.name, number, begin.stamp))
    for key, found in lines.items():
        one = process(key, ranks[key])
        one.printed = True
        one.tail = (one.tail + found)[-TAIL:]


def numbered(text: str, first: int) -> Iterator[tuple[int, str]]:
    """Lines of kept text with their numbers in the file; of a line redrawn in place, the last states."""
    for number, line in enumerate(text.split("\n"), first):
        if "\r" not in line:
            yield number, line
        else:
            for part in line.split("\r")[-4:]:
                yield number, part


def traces_of(scan: FileScan) -> list[Trace]:
    """All tracebacks of a file, chained ones once."""
    found: list[Trace] = []
    taken: set[int] = set()
    for excerpt in scan.excerpts:
        if excerpt.kind == 0 and excerpt.line not in taken and (trace := _trace(scan, excerpt)) is not None:
            found.append(trace)
            taken |= {excerpt.line + index for index in trace.chain.consumed}
    return found


def _trace(scan: FileScan, excerpt: Excerpt) -> Trace | None:
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in excerpt.text.split("\n")]
    before = [line for line in excerpt.before.split("\n") if line.strip()][-3:]
    chain = parse(lines, 0, before)
    if chain is None:
        return None
    last = max(chain.consumed) + 1
    return Trace(
        chain=chain,
        path=scan.file.name,
        line=excerpt.line,
        stamp=excerpt.stamp,
        texts=tuple(re.sub(r"\s+$", "", line) for line in lines[:last]),
        order=excerpt.order,
    )
