"""Finds the lines of one file at which its program was started again: a requeue, or a second launch with `tee -a`."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from distkb.evidence.observation import RunState
from distkb.evidence.run.launches import ranks_of, span
from distkb.evidence.run.lines import FileExcerpt, Lines
from distkb.evidence.run.processes import is_scheduler, traces_of
from distkb.evidence.run.steps import counted
from distkb.evidence.scanner.blocks import blocks
from distkb.evidence.text.lines import head, lead
from distkb.evidence.text.opening import SomeLines, open_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from distkb.catalogue.model import Signature
    from distkb.evidence.scanner.scan import FileScan, Scanner
    from distkb.evidence.text.opening import Readable

OPENINGS = 12
"""Different lines with which a run begins that are looked for again."""
WINDOW = 40
"""Lines within which a run has printed those."""
LEAST = 2
"""Of them, those that come again at the least, if half of them are no more."""
OFTEN = 300
"""A line that comes as often as this is none that a run begins with."""
RUNS = 10
"""Runs of one file that are told apart; what comes before is one with the oldest of them."""

_BEGINNING, _WORDS, _LETTERS = 200, 4, 6
"""Characters of a line, of which so many words tell it from others, and the letters that these hold at the least."""
_DIGITS = re.compile(r"\d+")
_PART = re.compile(r"[^\W\d_][^\d\t\r%]*")
"""A part of a line without numbers, by which lines like it are found."""
_LETTER = re.compile(r"[^\W\d_]")
_TABLE = 1
"""Kind of the excerpts that hold torchrun's table, which it prints when it ends itself."""
_RULE = re.compile(r"={40,}")
"""With which that table ends."""


class End(NamedTuple):
    """A line that says that a run was over."""

    line: int
    sure: bool
    """False where a rank says it: its output may only stand before that of another rank."""


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

    A traceback ends one only where no launcher speaks: torchrun starts the ranks again within one run.
    """
    outer = {signature.id for signature in signatures if signature.ending}
    launchers = {signature.id for signature in signatures if signature.printed_by == "launcher"} - outer
    traces = traces_of(scan)
    raised = {trace.line + index for trace in traces for index in trace.chain.consumed}
    found = [End(hit.line, sure=hit.line not in raised) for hit in scan.hits if hit.signature in outer]
    found += [End(excerpt.line, sure=True) for excerpt in scan.excerpts if excerpt.kind == _TABLE]
    if not any(hit.signature in launchers for hit in scan.hits):
        found += [End(trace.line + max(trace.chain.consumed), sure=False) for trace in traces]
    return sorted(found)


def openings(scan: FileScan, stop: int) -> dict[str, bytes]:
    """Return how the first lines of a file begin, up to where it stops, each with a part by which it is found."""
    found: dict[str, bytes] = {}
    for index in range(min(WINDOW, len(scan.first), stop - scan.first_line)):
        line = scan.first.line(index)
        key = _beginning(line)
        parts = _PART.findall(line[lead(line, head(line).body) :][:_BEGINNING])
        if key and parts and not line[head(line).body :].startswith((" ", "\t")):
            found.setdefault(key, max(parts, key=len).rstrip().encode())
        if len(found) == OPENINGS:
            break
    return found


def _beginning(line: str) -> str:
    """How a line begins behind rank and time, without its numbers; empty where that does not tell it from others."""
    text = line[lead(line, head(line).body) :][:_BEGINNING]
    key = " ".join(_DIGITS.sub("#", text).split()[:_WORDS])
    return key if len(_LETTER.findall(key)) >= _LETTERS else ""


def starts(scan: FileScan, over: Sequence[End], troubles: Collection[str]) -> list[int]:
    """Return the lines at which the program began again after it was over.

    There the first lines of the file come again, which otherwise come only where a run begins. Where a launcher said
    that the run was over, one of them is enough; else half of them have to. `troubles` are the messages that no run
    begins with.
    """
    wrong = [excerpt.line for excerpt in scan.excerpts] + [hit.line for hit in scan.hits if hit.signature in troubles]
    said = openings(scan, min([over[0].line, *wrong]))
    raw, text = open_text(scan.file.path)
    with raw:
        places = _places(said, text)
    early = [place for place in places if place.line < over[0].line]
    first = {place.key: place.line for place in reversed(places)}
    late = {place.key for place in early if first[place.key] + WINDOW < place.line}
    often = {key for key, count in Counter(place.key for place in places).items() if count >= OFTEN}
    rare = first.keys() - late - often
    twice = {key for (key, _), count in Counter((place.key, place.writer) for place in early).items() if count > 1}
    need = max(LEAST, (len(rare) + 1) // 2)
    again = [place for place in places if place.key in rare]
    fallen = _fallbacks(scan, [end.line for end in over if end.sure])
    found: list[int] = []
    for line in sorted({*(place.line for place in again), *fallen}):
        ended = [end for end in over if (found[-1] if found else 0) <= end.line < line]
        if not ended:
            continue
        at = bisect_left(again, line, key=_line_of)
        within = {place.key for place in again[at : bisect_left(again, line + WINDOW, key=_line_of)]}
        sure = any(end.sure and line - end.line <= WINDOW for end in ended)
        if len(within) >= need or (sure and (line in fallen or within - twice)):
            found.append(line)
    said_over = sorted(_told_by_launchers(scan, over))
    return [said_over[bisect_left(said_over, line) - 1] + 1 for line in found[-RUNS + 1 :]]


def _fallbacks(scan: FileScan, over: Sequence[int]) -> list[int]:
    """The first line after each end whose count of epochs and steps is behind that of such lines before the end."""
    reached: dict[str, tuple[int, int]] = {}
    found: list[int] = []
    ahead = list(over)
    for count, part, at in counted(Lines(_kept(scan))):
        line = part.numbers[at]
        key = _DIGITS.sub("#", part.line(at).text[:_BEGINNING]).split()[:_WORDS]
        top = reached.get(" ".join(key), (0, 0))
        if ahead and line > ahead[0] and (count[0], count[1] + 1) < top:  # a rank may be one step behind another
            found.append(line)
            reached.clear()
            ahead = [end for end in ahead if end > line]
        reached[" ".join(key)] = max(count, reached.get(" ".join(key), (0, 0)))
    return found


def _kept(scan: FileScan) -> Iterator[FileExcerpt]:
    """What is kept of a file, in order."""
    parts = ((scan.first, scan.first_line),) if scan.end_offset else ()
    for kept, first in (*parts, (scan.last, scan.end_line)):
        yield FileExcerpt(scan.file.name, kept, range(first, first + len(kept)), range(len(kept)))


def _told_by_launchers(scan: FileScan, over: Sequence[End]) -> Iterator[int]:
    """The last lines of all that is said of an end: of tracebacks, of torchrun's table, of a scheduler's messages."""
    yield from (end.line for end in over)
    for trace in traces_of(scan):
        yield trace.line + max(trace.chain.consumed)
    for excerpt in scan.excerpts:
        if excerpt.kind == _TABLE and (end := _RULE.search(excerpt.text)) is not None:
            yield excerpt.line + excerpt.text.count("\n", 0, end.start())
    for part in _kept(scan):
        yield from (part.numbers[at] for at in part.at if part.kept.shapes[at].once(is_scheduler))


class _Place(NamedTuple):
    """A line that begins like one of the first lines of its file."""

    line: int
    key: str
    writer: tuple[object, ...]
    """What it says of who printed it."""


def _line_of(place: _Place) -> int:
    return place.line


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
                text = data[low : min(high, low + 2 * _BEGINNING)].decode("utf-8", "replace")
                if _beginning(text) == key:
                    said = head(text)
                    writer = (said.rank, said.weak, said.own, said.source)
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
    spoken, again = set(ranks_of(before)), set(ranks_of(after))
    if spoken and again and not spoken & again:
        return False
    sure = any(end.sure for end in over if before.first_line <= end.line < after.first_line)
    for dated in (True, False):
        earlier, later = span(before, dated=dated), span(after, dated=dated)
        if earlier is not None and later is not None:
            next_day = sure and not dated and later[1] < earlier[0]
            return earlier[1] <= later[0] or next_day
    return sure or bool(spoken & again)


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
