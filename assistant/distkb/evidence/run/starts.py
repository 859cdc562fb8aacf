"""Finds the lines of one file at which its program was started again: a requeue, or a second launch with `tee -a`."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from enum import IntEnum
from itertools import islice, pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from distkb.evidence.observation import RunState
from distkb.evidence.run.launches import BEGINNING, DIGITS, WORDS, beginning, ranks_of, span
from distkb.evidence.run.lines import FileExcerpt, Lines, body_of
from distkb.evidence.run.processes import is_scheduler, traces_of
from distkb.evidence.run.steps import counted
from distkb.evidence.run.timeline import TABLE, read_table
from distkb.evidence.run.work import TORCHRUN
from distkb.evidence.scanner.blocks import blocks
from distkb.evidence.text.lines import SCAN, head, lead
from distkb.evidence.text.opening import SomeLines, open_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from distkb.catalogue.model import Signature
    from distkb.evidence.scanner.scan import FileScan, Scanner
    from distkb.evidence.text.opening import Readable

OPENINGS = 12
"""Different lines with which a run begins that are looked for again."""
WINDOW = 40
"""Lines within which a run has printed those."""
LEAST = 2
"""Of them, those that come again at the least where only ranks said that they were over."""
OFTEN = 300
"""A line that comes as often as this is none that a run begins with."""
RUNS = 10
"""Runs of one file that are told apart; what comes before is one with the oldest of them."""

_PART = re.compile(r"[^\W\d_][^\d\t\r%]*")
"""A part of a line without numbers, by which lines like it are found."""
_LIBRARY = re.compile(r"\[[IWE][\d:. ]{0,24}\w+\.cpp:\d+\]")
"""What torch's own parts print whenever it happens, not where a run begins."""
_RULE = re.compile(r"={40,}")
"""With which torchrun's table ends, which it prints when it ends itself."""
_ENDING_AGENT = re.compile(r"torch/distributed/elastic/(?:agent/server|multiprocessing)/api\.py")
"""torchrun's agent where it ends the ranks; it begins them without a word."""
_AGENT_PID = re.compile(r"[IWE]\d{4} [\d:.]{8,18} {1,8}(\d{1,9}) torch/distributed/([\w./]+\.py)")
_LAST_WORDS = re.compile(
    r"exits with return code = |\b(?:mpirun|prterun) (?:noticed that process|detected that one or more processes)"
    r"|Process(?:Raised|Exited)Exception\b"
    r"|srun: error: \S+: tasks? [\d,-]+: |\*\*\* STEP \S+ ON \S+ CANCELLED AT|\(core dumped\)"
    r"|: line \d+: +\d+ (?:Killed|Aborted|Terminated|Segmentation fault|Bus error)\b|^\[\d+\]\+ +(?:Killed|Exit \d)"
    r"|command terminated with exit code \d|Process group watchdog thread terminated|oom_kill event"
)
"""Last words of a process: of DeepSpeed's launcher, mpirun, `mp.spawn`, Slurm's tasks and steps, shells, kubectl and
NCCL's watchdog."""


_ANEW = 10.0
"""Seconds that the scheduler needs at the least to start a job anew."""
_LONGER = 5.0
"""Times the usual pause between two steps that the pause is which a new start makes."""
_START = 1.0
"""Seconds that a process needs to import torch: what begins sooner than that behind another runs beside it."""


class Sure(IntEnum):
    """Who says that a run was over."""

    RANK = 0
    """A rank: its output may only stand before that of another rank."""
    PROCESS = 1
    """A shell or a launcher, of one process at least."""
    ALL = 2
    """torchrun, of its machine, or the scheduler."""


class End(NamedTuple):
    """A line that says that a run was over."""

    line: int
    sure: Sure
    scheduler: bool = False
    """Whether it ended the whole job from outside."""


def runs_in(scan: FileScan, scanner: Scanner) -> Sequence[FileScan]:
    """Return the runs that follow one another in one file, each scanned by itself; the file as it is if it holds one.

    Raises:
        UnreadableError: the file cannot be read any more.
        OSError: the system refuses it.
    """
    over = ends(scan, scanner.signatures)
    if not over or over[0].line >= scan.first_line + scan.lines - 1:
        return (scan,)
    troubles = {one.id for one in scanner.signatures if one.role != "context" or one.printed_by == "launcher"}
    begun = starts(scan, over, troubles)
    if not begun:
        return (scan,)
    pieces = []
    for first, stop in pairwise((1, *begun, None)):
        raw, text = open_text(scan.file.path)
        with raw:
            pieces.append(scanner.scan(scan.file, SomeLines(text, first or 1, stop), first_line=first or 1))
    return pieces if are_runs(pieces, over) else (scan,)


def ends(scan: FileScan, signatures: Sequence[Signature]) -> list[End]:
    """Return the lines at which a run in this file was over, in order.

    A traceback ends one only where torchrun does not speak, which starts the ranks again within one run.
    """
    outer = {signature.id for signature in signatures if signature.ending}
    launchers = {signature.id for signature in signatures if signature.printed_by == "launcher"} - outer
    traces = traces_of(scan)
    raised = {trace.line + index for trace in traces for index in trace.chain.consumed}
    found: list[End] = []
    for hit in scan.hits:
        if hit.signature in outer:
            one = hit.line in raised or "KeyboardInterrupt" in hit.text
            by = Sure.RANK if hit.line in raised else Sure.PROCESS if one else Sure.ALL
            found.append(End(hit.line, by, scheduler=not one))
    found += [End(excerpt.line, Sure.ALL) for excerpt in scan.excerpts if excerpt.kind == TABLE]
    if not any(hit.signature in launchers and TORCHRUN.search(hit.text) for hit in scan.hits):
        found += [End(trace.line + max(trace.chain.consumed), Sure.RANK) for trace in traces]
    return sorted([*found, *(End(line, Sure.PROCESS) for line in _where(scan, _is_last_word))])


def _is_last_word(text: str) -> bool:
    return _LAST_WORDS.search(text) is not None


def _is_of_end(text: str) -> bool:
    return is_scheduler(text) or _is_last_word(text) or _ENDING_AGENT.search(text) is not None


def openings(scan: FileScan, stop: int) -> dict[str, bytes]:
    """Return how the first lines of a file begin, up to a line, each with a part by which it is found."""
    found: dict[str, bytes] = {}
    for index in range(min(WINDOW, len(scan.first), stop - scan.first_line)):
        line = scan.first.line(index)
        key = beginning(line)
        parts = _PART.findall(line[lead(line, head(line).body) :][:BEGINNING])
        if key and parts and not line[head(line).body :].startswith((" ", "\t")) and not _LIBRARY.search(line[:SCAN]):
            found.setdefault(key, max(parts, key=len).rstrip().encode())
        if len(found) == OPENINGS:
            break
    return found


NOBODY = ""
"""The writer of a line that says nothing of who printed it."""


class _Place(NamedTuple):
    """A line that begins like one of the first lines of its file."""

    line: int
    key: str
    writer: int | str
    """What it says of who printed it: the number of a rank, or a label."""


def _line_of(place: _Place) -> int:
    return place.line


class _Openings(NamedTuple):
    """The first lines of a file that otherwise come only where a run begins."""

    very_first: str
    """How the very first one begins."""
    first: dict[str, int]
    """Where each one, by its beginning, stands first."""
    places: list[_Place]
    """Where they all stand; of a line that says who printed it, only if the same one had printed it at first."""

    def near(self, line: int) -> list[_Place]:
        """Return those that stand within some lines."""
        at, stop = (bisect_left(self.places, number, key=_line_of) for number in (line, line + WINDOW))
        return self.places[at:stop]


def _openings(scan: FileScan, over: int, troubles: Collection[str]) -> _Openings:
    """The openings of a file, of which the first run was over at a line."""
    wrong = [excerpt.line for excerpt in scan.excerpts] + [hit.line for hit in scan.hits if hit.signature in troubles]
    steps = [part.numbers[at] for _, part, at in islice(counted(Lines(_kept(scan))), 1)]
    raw, text = open_text(scan.file.path)
    with raw:
        places = _places(openings(scan, min([over, *wrong, *steps])), text)
    early = [place for place in places if place.line < over]
    first = {place.key: place.line for place in reversed(places)}
    late = {place.key for place in early if first[place.key] + WINDOW < place.line}
    often = {key for key, count in Counter(place.key for place in places).items() if count >= OFTEN}
    rare = {key: line for key, line in first.items() if key not in late | often}
    heard = {(place.key, place.writer) for place in early}
    return _Openings(
        very_first=next((beginning(line) for line in map(scan.first.line, range(len(scan.first))) if line.strip()), ""),
        first=rare,
        places=[one for one in places if one.key in rare and (one.writer == NOBODY or one[1:] in heard)],
    )


def starts(scan: FileScan, over: Sequence[End], troubles: Collection[str]) -> list[int]:
    """Return the lines at which the program began again after it was over.

    There the first lines of the file come again, which otherwise come only where a run begins. Where torchrun or the
    scheduler said that the run was over, one of them is enough, or counts that fall back; else the very first line and
    half of the others, or such counts. `troubles` are the messages that no run begins with.
    """
    begun = _openings(scan, over[0].line, troubles)
    need = (len(begun.first) + 1) // 2
    fallen = _fallbacks(scan, [end.line for end in over if end.sure > Sure.RANK])
    fallen += _resumptions(scan, [end.line for end in over if end.scheduler])
    said_over = sorted(_told_by_launchers(scan, over))
    found: list[int] = []
    for line in sorted({*map(_line_of, begun.places), *fallen}):
        ended = [end for end in over if (found[-1] if found else 0) <= end.line < line]
        if not ended:
            continue
        within = begun.near(line)
        keys = {place.key for place in within}
        sure = any(end.sure == Sure.ALL and line - end.line <= WINDOW for end in ended)
        least = LEAST if all(end.sure == Sure.RANK for end in ended) else 1
        again = any(line <= one < line + WINDOW for one in fallen) or len(keys) >= max(least, need)
        if (sure and (keys or line in fallen)) or (begun.very_first in keys and again):
            behind = begun.first[within[0].key] - scan.first_line if within else 0
            told = said_over[bisect_left(said_over, line) - 1] + 1
            found.append(told if line in fallen else max(told, line - behind))
    spans = _processes(scan)
    return [line for line in found if not any(one < line <= last for one, last in spans)][-RUNS + 1 :]


def _processes(scan: FileScan) -> list[tuple[int, int]]:
    """The first and the last line of each of torchrun's agents, as far as lines are kept: none outlives its run.

    One that greets again is another one of the same number, as it has in each container.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    greeted: set[str] = set()
    for part in _kept(scan):
        named = part.where(_names_agent)
        for at in named.at:
            if (said := _AGENT_PID.search(part.kept.line(at))) is not None:
                number, pid, greets = part.numbers[at], said[1], said[2] == "run.py"
                spans = found.setdefault(pid, [])
                if not spans or (greets and pid not in greeted):
                    spans.append((number, number))
                spans[-1] = (spans[-1][0], number)
                (greeted.add if greets else greeted.discard)(pid)
    return [span for spans in found.values() for span in spans]


def _names_agent(text: str) -> bool:
    return _AGENT_PID.search(text) is not None


def _fallbacks(scan: FileScan, over: Sequence[int]) -> list[int]:
    """The first line after each end whose count of epochs and steps is behind that of its writer's lines before it."""
    before: dict[str, tuple[int, int]] = {}
    since: dict[str, tuple[int, int]] = {}
    found: list[int] = []
    passed = 0
    for count, part, at in counted(Lines(_kept(scan))):
        number, text = part.numbers[at], part.kept.line(at)
        if (ended := bisect_left(over, number)) > passed:
            before.update((key, max(top, before.get(key, top))) for key, top in since.items())
            since, passed = {}, ended
        body = part.kept.shapes[at].once(body_of)
        key = " ".join((text[:body], *DIGITS.sub("#", text[body:][:BEGINNING]).split()[:WORDS]))
        if passed and (count[0], count[1] + 1) < before.get(key, count):  # a rank may be one step behind another
            found.append(number)
            before.clear()
            since.clear()
        since[key] = max(count, since.get(key, count))
    return found


def _resumptions(scan: FileScan, over: Sequence[int]) -> list[int]:
    """The first step after each end by the scheduler before which the steps had paused, as while a job starts anew."""
    if not over:
        return []
    rows = [
        (part.numbers[at], stamp.clock)
        for _, part, at in counted(Lines(_kept(scan)))
        if (stamp := head(part.kept.line(at)).stamp) is not None
    ]
    found: list[int] = []
    for end in over:
        behind = bisect_left(rows, (end, 0.0))
        times = [time for _, time in rows[max(0, behind - WINDOW) : behind]]
        if len(times) > LEAST and behind < len(rows):
            usual = median(after - before for before, after in pairwise(times))
            if rows[behind][1] - times[-1] >= max(_ANEW, _LONGER * usual):
                found.append(rows[behind][0])
    return found


def _kept(scan: FileScan) -> Iterator[FileExcerpt]:
    """What is kept of a file, in order and once; the last of the first lines may be cut off."""
    before = min(len(scan.first) - 1, scan.end_line - scan.first_line)
    yield FileExcerpt(scan.file.name, scan.first, range(scan.first_line, scan.first_line + before), range(before))
    yield FileExcerpt(
        scan.file.name, scan.last, range(scan.end_line, scan.end_line + len(scan.last)), range(len(scan.last))
    )


def _where(scan: FileScan, wanted: Callable[[str], bool]) -> Iterator[int]:
    """The numbers of the kept lines of which this is true."""
    return (part.numbers[at] for part in _kept(scan) for at in part.where(wanted).at)


def _told_by_launchers(scan: FileScan, over: Sequence[End]) -> Iterator[int]:
    """The last lines of all that is said of an end: of tracebacks, of torchrun's table, of a scheduler's messages."""
    yield from (end.line for end in over)
    for trace in traces_of(scan):
        yield trace.line + max(trace.chain.consumed)
    for excerpt in scan.excerpts:
        if excerpt.kind == TABLE and (end := _RULE.search(excerpt.text)) is not None:
            yield excerpt.line + excerpt.text.count("\n", 0, end.start())
    yield from _where(scan, _is_of_end)


def _places(parts: Mapping[str, bytes], stream: Readable) -> list[_Place]:
    """The lines of a text that begin in one of these ways, in order."""
    found: list[_Place] = []
    count: Counter[str] = Counter()
    number = 1
    for block in blocks(stream):
        data = bytes(memoryview(block.data)[block.continued : block.stop])
        for key, part in parts.items():
            at = data.find(part)
            while at >= 0 and count[key] < OFTEN:
                low, high = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
                high = high if high >= 0 else len(data)
                text = data[low : min(high, low + 2 * BEGINNING)].decode("utf-8", "replace")
                if beginning(text) == key:
                    said = head(text)
                    rank = next((n for n in (said.rank, said.weak, said.own) if n is not None), None)
                    writer = said.source if rank is None else rank
                    found.append(_Place(number + data.count(b"\n", 0, at), key, writer))
                    count[key] += 1
                at = data.find(part, high)
        number += data.count(b"\n")
    return sorted(found, key=_line_of)


def are_runs(pieces: Sequence[FileScan], over: Sequence[End]) -> bool:
    """Whether the pieces of a file are runs one after another, not the outputs of several ranks one after another.

    Times go forward, and the same ranks speak again, as far as lines say it. Where they say neither, a launcher has to
    say that each run was over; a time of day may be one of the next day then.
    """
    return all(_follows(before, after, over) for before, after in pairwise(pieces))


def _follows(before: FileScan, after: FileScan, over: Sequence[End]) -> bool:
    ended = [end for end in over if before.first_line <= end.line < after.first_line]
    sure = any(end.sure == Sure.ALL for end in ended)
    spoken, again = set(ranks_of(before)), set(ranks_of(after))
    hosts, others = _hosts(before), _hosts(after)
    if hosts and others and not any(end.scheduler for end in ended):
        if not hosts & others:
            return False  # several machines' agents in one console, each of which ends by itself
    elif spoken and again and not spoken & again:
        return False
    for dated in (True, False):
        earlier, later = span(before, dated=dated), span(after, dated=dated)
        if earlier is not None and later is not None:
            next_day = sure and not dated and later[1] < earlier[0]
            beside = not sure and 0.0 < later[0] - earlier[0] < _START
            return (earlier[1] <= later[0] and not beside) or next_day
    return any(end.sure > Sure.RANK for end in ended) or bool(spoken & again)


def _hosts(scan: FileScan) -> set[str]:
    """The machines on which torchrun's agents ended, as their tables say."""
    return {row.host for excerpt in scan.excerpts if excerpt.kind == TABLE for row in read_table(excerpt) if row.host}


def older_runs(pieces: Sequence[Sequence[FileScan]], newest: Sequence[FileScan]) -> list[list[FileScan]]:
    """Return the runs before the newest one, oldest first, of the older pieces of each of its files."""
    own = [older for older in pieces if any(older[0].file is scan.file for scan in newest)]
    most = max((len(older) for older in own), default=0)
    return [[older[-back] for older in own if len(older) >= back] for back in range(most, 0, -1)]


def states(older: Sequence[Sequence[FileScan]], newest: Sequence[FileScan]) -> Iterator[RunState]:
    """Yield what is told of the runs that follow one another in the same files, if there are several."""
    if older:
        yield from (_state(pieces, diagnosed=False) for pieces in older)
        yield _state([scan for scan in newest if scan.first_line > 1], diagnosed=True)


def _state(pieces: Sequence[FileScan], *, diagnosed: bool) -> RunState:
    one = pieces[0]
    times = [time for piece in pieces for time in span(piece, dated=True) or ()]
    return RunState(
        name=f"{one.file.name}:{one.first_line}-{one.first_line + one.lines - 1}",
        files=len(pieces),
        start=min(times, default=None),
        end=max(times, default=None),
        diagnosed=diagnosed,
    )
