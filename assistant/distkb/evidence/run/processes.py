"""Puts together what each process of the run printed, whichever files it is spread over."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.run.lines import FileExcerpt, Lines, body_of
from distkb.evidence.run.owner import Owner, one_rank_a_file, own_numbers
from distkb.evidence.scanner.scan import Excerpt, FileScan, LineMatch
from distkb.evidence.text.lines import Stamp, head, lead, parts
from distkb.evidence.text.shapes import Kept
from distkb.evidence.text.traceback import Chain, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

FEW = 3
"""Lines that two files must share, at least, for one to repeat the other."""
TAIL = 400
"""Lines of each process's end that are looked at."""
OPENING = 100
"""Lines of each process's start that are kept where its end does not reach back to it."""


_SCHEDULER = re.compile(r"\s{0,8}(?:slurmstepd\S{0,80}|srun): ")
"""What Slurm prints beside the ranks, under `srun --label` even with a task's number before it."""

LAST_STATES, STATES_ON_THE_WAY = 4, 8
"""What is read of a line that is redrawn in place, such as a progress bar: its end, and about so many states before."""


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
    hits: list[tuple[FileScan, LineMatch]] = []
    traces: list[Trace] = []
    opening: Lines = Lines()
    """Its first lines, where the tail does not reach back to them."""
    tail: Lines = Lines()
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
    worlds: list[int] = []
    """How many ranks each file says that there are, 0 where it says none."""
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
    run = Run(scans=list(chosen), attempt=attempt, worlds=[_said_world(scan.first) for scan in chosen])
    collide = _colliding(chosen)
    apart = one_rank_a_file(chosen)
    processes: dict[str, Process] = {}
    everyone = cache(lambda: own_numbers(chosen))
    owners = [Owner(scan, collide=collide, apart=apart, everyone=everyone) for scan in chosen]
    named: dict[int | None, list[FileScan]] = defaultdict(list)
    for scan, owner in zip(chosen, owners, strict=True):
        if scan.file.rank is not None and scan.size:
            named[owner.rank].append(scan)
    for scan, owner in zip(chosen, owners, strict=True):
        if scan.file.rank is None and owner.rank is not None and not owner.console:
            owner.console = any(_is_repeat(scan, other) for other in named.get(owner.rank, ()))
    for scan, owner in zip(chosen, owners, strict=True):
        _sort(scan, run, processes, owner)
    run.processes = [process for process in processes.values() if process.key != "launcher"]
    for process in run.processes:
        process.traces.sort(key=lambda trace: trace.order)
    return run


def _is_repeat(scan: FileScan, other: FileScan) -> bool:
    """Whether a file without a rank in its name holds what is in the rank's own file too."""
    said = _messages(scan.last)
    return len(said) >= FEW and len(said & _messages(other.last)) > len(said) / 2


def _messages(kept: Kept) -> set[str]:
    """What the last lines say, without their time and labels."""
    texts = map(kept.line, range(max(0, len(kept) - TAIL), len(kept)))
    return {text[lead(text, body_of(text)) :] for text in texts if text.strip()}


_WORLD = re.compile(r"(?i)\bworld[_ ]?size['\"]?\s{0,4}(?:[:=]|is)?\s{0,4}(\d{1,6})\b|\bNum processes: (\d{1,6})\b")


def _said_world(kept: Kept) -> int:
    for index, shape in enumerate(kept.shapes):
        if shape.once(_may_say_world):
            found = _WORLD.search(kept.line(index))
            return int(found[1] or found[2]) if found else 0
    return 0


def _may_say_world(text: str) -> bool:
    return _WORLD.search(text) is not None


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


def _sort(scan: FileScan, run: Run, processes: dict[str, Process], owner: Owner) -> None:
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


def _tails(scan: FileScan, owner: Owner, process: Callable[[str, int | None], Process]) -> None:
    end, first = scan.last, 0
    if not owner.console and len(end) > TAIL + OPENING + 1:  # of one writer no more is looked at
        first = len(end) - TAIL
    for key, rank, found in _by_writer(scan, owner, end, scan.end_line, range(first, len(end))):
        one = process(key, rank)
        one.printed = True
        said = one.tail + found
        one.opening = (one.opening + said[:-TAIL])[:OPENING]
        one.tail = said[-TAIL:]
    before = first + scan.end_line - scan.first_line
    if before:
        start = scan.first
        stop = len(start) - 1 if _overlap(scan) else len(start)
        stop = stop if owner.console else min(stop, OPENING + 1)
        for key, rank, found in _by_writer(scan, owner, start, scan.first_line, range(min(stop, before))):
            one = process(key, rank)
            one.opening = (found + one.opening)[:OPENING]


def _overlap(scan: FileScan) -> bool:
    """Whether the last of the first lines, which may be cut off, is among the last lines too."""
    return scan.end_offset < sum(len(shape.text) + 1 for shape in scan.first.shapes) - 1


def _by_writer(
    scan: FileScan, owner: Owner, kept: Kept, first: int, wanted: range
) -> Iterator[tuple[str, int | None, Lines]]:
    """Lines of kept text by the process that printed them."""
    numbers: Sequence[int] = range(first, first + len(kept))
    if kept.redrawn or (owner.console and any(kept.shapes[index].once(_is_torn) for index in wanted)):
        kept, numbers = _unfolded(kept, first, wanted)
        wanted = range(len(kept))
    shapes = kept.shapes
    printed = [index for index in wanted if shapes[index].once(_is_printed)]
    if not owner.console:
        if printed:
            yield owner.key, owner.rank, Lines([FileExcerpt(scan.file.name, kept, numbers, array("I", printed))])
        return
    lines: dict[tuple[str, int | None], array[int]] = {}
    for index in printed:
        lines.setdefault(owner.writer(kept, index), array("I")).append(index)
    for (key, rank), found in lines.items():
        yield key, rank, Lines([FileExcerpt(scan.file.name, kept, numbers, found)])


def _is_printed(text: str) -> bool:
    return bool(text.strip()) and not is_scheduler(text)


def is_scheduler(text: str) -> bool:
    """Whether Slurm prints such lines beside the ranks."""
    return _SCHEDULER.match(text, body_of(text)) is not None


def _is_torn(text: str) -> bool:
    return len(parts(text)) > 1


def _unfolded(kept: Kept, first: int, wanted: range) -> tuple[Kept, list[int]]:
    """Lines with their numbers in the file; of a line redrawn in place, some states on the way and the last ones.

    A line into which several ranks wrote is one line for each.
    """
    states = [
        (number + first, part)
        for number in wanted
        for state in _some(kept.line(number).split("\r"))
        for part in _torn(state)
    ]
    return Kept.of((state for _, state in states), kept.known), [number for number, _ in states]


def _torn(text: str) -> list[str]:
    begins = parts(text)
    return [text[start:stop] for start, stop in zip(begins, [*begins[1:], None], strict=True)]


def _some(states: list[str]) -> list[str]:
    way = states[:-LAST_STATES]
    return [*way[:: len(way) // STATES_ON_THE_WAY], *states[-LAST_STATES:]] if len(way) >= STATES_ON_THE_WAY else states


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
