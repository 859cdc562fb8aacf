"""Puts together what each process of the run printed, whichever files it is spread over."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.scanner.scan import Excerpt, FileScan, Hit
from distkb.evidence.text.lines import Head, Stamp, head
from distkb.evidence.text.traceback import Chain, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

HEADS = 300
"""Lines of a file's start and of its end by which it is told who wrote it."""
TAIL = 400
"""Lines of each process's end that are looked at."""
OPENING = 100
"""Lines of each process's start that are kept where its end does not reach back to it."""


_SCHEDULER = re.compile(r"\s{0,8}(?:slurmstepd\S{0,80}|srun): ")
"""What Slurm prints beside the ranks, under `srun --label` even with a task's number before it."""


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
    opening: list[Line] = []
    """Its first lines, where the tail does not reach back to them."""
    tail: list[Line] = []
    said: bool = False
    """True where its lines themselves say its rank."""
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
    consoles: set[str] = set()
    """Files that hold the output of several processes: what a rank's own file holds too is said once."""

    @property
    def ranked(self) -> list[Process]:
        """Processes whose rank is known, in order of rank."""
        known = [process for process in self.processes if process.rank is not None]
        return sorted(known, key=lambda process: process.rank or 0)


def assemble(scans: Sequence[FileScan], attempt: int | None = None) -> Run:
    """Sort the content of all files by process.

    Where torchrun restarted the workers, only one attempt is taken: the given one, else the first one with an error,
    because later ones often fail for reasons that the first one left behind.
    """
    attempt = _attempt(scans) if attempt is None else attempt
    chosen = [scan for scan in scans if scan.file.attempt in {None, attempt}]
    run = Run(scans=list(chosen), attempt=attempt)
    collide = _colliding(chosen)
    apart = _one_rank_a_file(chosen)
    processes: dict[str, Process] = {}
    for scan in chosen:
        _sort(scan, run, processes, _Owner(scan, collide=collide, apart=apart))
    run.processes = [process for process in processes.values() if process.key != "launcher"]
    for process in run.processes:
        process.traces.sort(key=lambda trace: trace.order)
    return run


def attempts(scans: Sequence[FileScan]) -> list[int]:
    """Return the numbers of torchrun's attempts, in order."""
    return sorted({scan.file.attempt for scan in scans if scan.file.attempt is not None})


def _attempt(scans: Sequence[FileScan]) -> int | None:
    numbers = attempts(scans)
    for attempt in numbers:
        if any((scan.hits or scan.excerpts) for scan in scans if scan.file.attempt == attempt):
            return attempt
    return numbers[-1] if numbers else None


def _colliding(scans: Sequence[FileScan]) -> bool:
    """Whether several machines' trees use the same local ranks for different processes."""
    groups = {scan.file.group for scan in scans if scan.file.local}
    return len(groups) > 1


def _one_rank_a_file(scans: Sequence[FileScan]) -> bool:
    """Whether several files whose names tell no rank each show one rank, and not the same one."""
    found: set[int] = set()
    for scan in scans:
        if scan.file.rank is None:
            ranks = {head(line).rank for line in scan.end.split("\n")[-HEADS:]} - {None}
            found |= {rank for rank in ranks if rank is not None and len(ranks) == 1}
    return len(found) > 1


class _Owner:
    """Tells which process printed a line of one file.

    A name of a file, a label of a launcher and a host are sources, not ranks: what the lines say of their rank counts
    more. `[rank2]:`, `rank=2` and a logger's format are strong; a number alone is the rank only where the whole file
    bears it out.
    """

    def __init__(self, scan: FileScan, *, collide: bool, apart: bool) -> None:
        self._file = scan.file
        sample = scan.start.split("\n")[:HEADS] + scan.end.split("\n")[-HEADS:]
        heads = [head(line) for line in sample if line.strip()]
        strong = Counter(h.rank for h in heads if h.rank is not None)
        weak = Counter(h.weak for h in heads if h.weak is not None)
        own = [h.own for h in heads if h.own is not None]
        pids = _ranks_of_pids(line for line in sample if line.strip())
        self.console = False
        self._labels: dict[int, int] | None = None
        """Number of a label → rank, where labels tell the writers apart."""
        self._own = {number: number for number in own} if _numbers_ranks(own, len(heads)) else pids
        common = strong.most_common(1)[0][0] if strong else None
        ranks = set(self._own.values())
        said = common if len(strong) == 1 else min(ranks) if not strong and len(ranks) == 1 else None
        self.said = said is not None
        self.rank: int | None = scan.file.rank
        if scan.file.rank is not None:
            if said is not None or collide:
                self.rank = said
        elif len(weak) > 1 and (labels := _labelled(heads)) is not None:
            self.console = True
            self._labels = labels
        elif len(strong) > 1:
            self.console = True
        elif not strong and len(weak) > 1 and sum(weak.values()) > 0.6 * len(heads):
            self.console = True
            self._labels = {number: number for number in weak}
        elif len(ranks) > 1:
            self.console = True
        elif common is not None:
            # lines without a rank beside those of one rank: a console, unless nearly all lines carry it, or each
            # file shows a rank of its own
            self.console = strong[common] < (0.5 if apart else 0.9) * len(heads)
            self.rank = None if self.console else common
        elif said is not None:
            self.rank = said
        self.said = self.said or self.console
        self.key = (
            f"rank {self.rank}"
            if self.rank is not None
            else f"{scan.file.group}/{scan.file.rank if scan.file.rank is not None else scan.file.name}"
        )

    def of(self, line: Head | Hit) -> tuple[str, int | None]:
        """Key and rank of the process that printed a line with this head."""
        if not self.console:
            return self.key, self.rank
        number = line.rank
        if self._labels is not None and line.weak is not None:
            number = self._labels.get(line.weak, number)
        if number is None and line.own is not None:
            number = self._own.get(line.own)
        if number is not None:
            return f"rank {number}", number
        return (f"{self._file.name} {line.source}" if line.source else f"{self._file.name}"), None


def _labelled(heads: Sequence[Head]) -> dict[int, int] | None:
    """Return the rank of each label where nearly all lines carry a number and print one rank with each, or None.

    Under `srun --label` the number is the task's, and the rank is what the task's own lines say.
    """
    both: dict[int, set[int]] = {}
    for one in heads:
        number = one.rank if one.rank is not None else one.own
        if one.weak is not None and number is not None:
            both.setdefault(one.weak, set()).add(number)
    numbered_heads = sum(h.weak is not None for h in heads)
    if not both or numbered_heads <= 0.6 * len(heads) or any(len(ranks) > 1 for ranks in both.values()):
        return None
    ranks = {label: next(iter(said)) for label, said in both.items()}
    labels = {h.weak for h in heads if h.weak is not None}
    same = all(label == rank for label, rank in ranks.items())
    if len(set(ranks.values())) < len(ranks):
        return None
    return {label: label for label in labels} if same else ranks


def _numbers_ranks(numbers: Sequence[int], lines: int) -> bool:
    """Whether numbers before messages are ranks and no counter: all from 0 on, come again, and not only upwards."""
    kinds = set(numbers)
    if len(kinds) == 1:
        return len(numbers) > 0.5 * lines
    again = any(later < earlier for earlier, later in pairwise(numbers))
    return again and kinds == set(range(max(kinds) + 1)) and len(numbers) >= 2 * len(kinds)


_CLAIM = re.compile(r"(?i)\brank[ =:]{0,2}(\d{1,5}) ?(?:/|of) ?\d{1,5}\b")


def _ranks_of_pids(lines: Iterable[str]) -> dict[int, int]:
    """Return the rank of each process label such as `[11689]`, where the process says which rank of how many it is."""
    said: dict[int, set[int]] = {}
    for line in lines:
        claim = _CLAIM.search(line[:200])
        own = head(line).own if claim is not None else None
        if claim is not None and own is not None:
            said.setdefault(own, set()).add(int(claim[1]))
    ranks = {label: next(iter(one)) for label, one in said.items() if len(one) == 1}
    return ranks if len(ranks) == len(said) and len(set(ranks.values())) == len(ranks) > 1 else {}


def _sort(scan: FileScan, run: Run, processes: dict[str, Process], owner: _Owner) -> None:
    if owner.console:
        run.consoles.add(scan.file.name)

    def process(key: str, rank: int | None) -> Process:
        found = processes.setdefault(key, Process(key=key, rank=rank))
        found.said = found.said or owner.said
        found.whole = found.whole or not owner.console
        return found

    if not owner.console and scan.size == 0:
        process(owner.key, owner.rank)
    for hit in scan.hits:
        key, rank = owner.of(hit)
        process(key, rank).hits.append((scan, hit))
    for trace in traces_of(scan):
        begin = head(trace.texts[0] if trace.texts else "")
        key, rank = owner.of(begin)
        if trace.chain.launcher:
            run.launcher.append(trace)
            continue
        if rank is None and trace.chain.spawned is not None:
            key, rank = f"rank {trace.chain.spawned}", trace.chain.spawned
        process(key, rank).traces.append(trace)
    _tails(scan, owner, process)


def _tails(scan: FileScan, owner: _Owner, process: Callable[[str, int | None], Process]) -> None:
    end, first = scan.end, scan.end_line
    if not owner.console and end.count("\n") > TAIL + OPENING:  # of one writer no more is looked at
        lines = end.split("\n")
        first += len(lines) - TAIL
        end = "\n".join(lines[-TAIL:])
    for key, rank, found in _by_writer(scan, owner, end, first):
        one = process(key, rank)
        one.printed = True
        before = (one.tail + found)[:-TAIL]
        one.opening = (one.opening + before)[:OPENING]
        one.tail = (one.tail + found)[-TAIL:]
    if first > 1:
        start = scan.start[: scan.start.rfind("\n") + 1] if scan.end_offset < len(scan.start) else scan.start
        start = start if owner.console else "\n".join(start.split("\n", OPENING + 1)[: OPENING + 1])
        for key, rank, found in _by_writer(scan, owner, start, 1):
            one = process(key, rank)
            one.opening = ([line for line in found if line.number < first] + one.opening)[:OPENING]


def _by_writer(scan: FileScan, owner: _Owner, text: str, first: int) -> Iterator[tuple[str, int | None, list[Line]]]:
    """Lines of kept text by the process that printed them."""
    lines: dict[str, list[Line]] = {}
    ranks: dict[str, int | None] = {}
    for number, line in numbered(text, first):
        if not line.strip():
            continue
        begin = head(line)
        if _SCHEDULER.match(line, begin.body):
            continue
        key, rank = owner.of(begin)
        ranks[key] = rank
        lines.setdefault(key, []).append(Line(line[begin.body :], scan.file.name, number, begin.stamp))
    for key, found in lines.items():
        yield key, ranks[key], found


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
