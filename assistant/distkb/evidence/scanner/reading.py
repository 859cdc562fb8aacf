"""Keeps what matters of one file while its blocks go by: hits, tracebacks, its start and its end."""

from __future__ import annotations

import re
from collections import Counter, deque
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from distkb.evidence.scanner.scan import WINDOW, Excerpt, FileScan, LineMatch, MatchCandidate
from distkb.evidence.text.clean import plain, quote_text, without_ours
from distkb.evidence.text.lines import Head, Stamp, head, parts
from distkb.evidence.text.shapes import Kept, ShapedText

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from distkb.catalogue.model import Signature
    from distkb.evidence.inventory import LogFile
    from distkb.evidence.scanner.blocks import AnyBlock
    from distkb.evidence.scanner.second_process import Located
    from distkb.evidence.text.shapes import Shapes

CONFIRMED = 2_000
"""Matching lines of one signature and file that are read closely; the rest is only counted."""
KEPT = 256
"""Hits of one signature and file that are kept, besides the last few."""
FIRST = 3
"""Of those, hits that are kept wherever they come from."""
PER_RANK = 1
"""And hits for each rank of a console."""
LAST = 2
EXCERPT = 48 << 10
"""Bytes kept after the start of a traceback or failure table."""
MAX_EXCERPTS = 600
START = 32 << 10
"""Bytes of the start of a file that are kept."""
END, LEAST_END, ALL_ENDS = 128 << 10, 32 << 10, 2 << 20
"""Bytes of its end: all files together keep no more than the last, unless each then keeps less than it needs."""

STALE = 64
"""Hits in a row without a new rank, after which ranks are not looked for any more."""
TRIES = 100
"""Candidates of one pattern and line that are tried."""


class _Found(NamedTuple):
    """A confirmed match, apart from the block whose buffer will be used again."""

    start: int
    """Offset in the block."""
    match: re.Match[bytes]

    @property
    def end(self) -> int:
        """Offset in the block after it."""
        return self.start + self.match.end() - self.match.start()


class _Raw(NamedTuple):
    """A hit before its text is made fit to be shown: most are dropped again, so nothing is worked out yet."""

    pattern: int
    match: re.Match[bytes]
    line: int
    order: int
    start: bytes | bytearray
    """Of the line, from which rank and time are read."""
    part: bytes | bytearray
    """Of the line, around the match."""
    lead: int
    """Bytes of the part before the match."""
    begin: Head | None
    """What the start says, where it was asked already."""
    above: bytes | bytearray
    before: bytes
    """What stands above that, where it belongs to the block before."""


class FilePass:
    """The state of one pass over one file."""

    def __init__(
        self,
        file: LogFile,
        signatures: Sequence[Signature],
        regex: Callable[[int], re.Pattern[bytes]],
        shapes: Shapes,
        files: int = 1,
        first_line: int = 1,
    ) -> None:
        """Take the file to be read; `regex` gives the confirming expression of a signature or anchor.

        `shapes` are those of the lines of all files, `files` is how many there are, `first_line` the number of the
        first line that will be read.
        """
        self._shapes = shapes
        self._kept_end = max(LEAST_END, min(END, ALL_ENDS // files))
        self._file = file
        self._names = [signature.id for signature in signatures]
        self._known = len(signatures)
        self._regex = regex
        self._counts: Counter[int] = Counter()
        self._kept: dict[int, list[_Raw]] = {}
        self._last: dict[int, deque[_Raw]] = {}
        self._recent: dict[int, deque[tuple[MatchCandidate, _Found]]] = {}
        self._per_rank: Counter[tuple[int, int | None]] = Counter()
        self._stale: Counter[int] = Counter()
        self._excerpts: list[Excerpt] = []
        self._open: list[Excerpt] = []
        self._previous_line: dict[int, int] = {}
        self._start = b""
        self._end = bytearray()
        self._before = b""
        self._line = self._first_line = first_line
        self._size = 0
        self._blank = False
        """Whether anything was read, NULs if nothing else."""

    def take(self, block: AnyBlock, located: Located) -> None:
        """Take one block and the places in it where something may match."""
        self._complete(block)
        self._size -= block.continued
        if len(self._start) < START:
            self._start += block.data[: min(block.stop, START - len(self._start))]
        at = -1
        done: set[int] = set()
        tries: Counter[int] = Counter()
        counts = self._counts
        for candidate in map(MatchCandidate._make, located.candidates):
            count = counts[candidate.pattern]
            if count >= CONFIRMED and count % 1000 and candidate.high - candidate.low < WINDOW:
                counts[candidate.pattern] = count + 1
                continue
            if candidate.low != at:
                at = candidate.low
                done.clear()
                tries.clear()
            if candidate.pattern in done or tries[candidate.pattern] > TRIES:
                continue
            if self._match(block, candidate):
                done.add(candidate.pattern)
            else:
                tries[candidate.pattern] += 1
        self._leave(block, located.newlines)

    def _leave(self, block: AnyBlock, newlines: int) -> None:
        """Remember what later blocks need of this one, whose buffer will be used again."""
        for index, recent in self._recent.items():
            self._last.setdefault(index, deque(maxlen=LAST)).extend(
                self._raw(block, candidate, found) for candidate, found in recent
            )
        self._recent.clear()
        tail = block.tail(size := self._kept_end)
        if len(tail) < size:
            self._end = (self._end + tail)[-size:]
        elif len(self._end) == size:
            memoryview(self._end)[:] = tail  # in place: this is done for each block
        else:
            self._end = bytearray(tail)
        self._before = bytes(tail[-4096:])
        self._line += newlines
        self._size += block.stop
        self._blank = self._blank or block.raw > 0

    def _match(self, block: AnyBlock, candidate: MatchCandidate) -> bool:
        """Confirm and keep one candidate; whether it matches."""
        index, end, low, high, _ = candidate
        begin = max(low, end - WINDOW)
        first = max(low, begin - 1)  # one byte more, so that a part of a line does not look like the start of one
        match = self._regex(index).search(bytes(block.data[first : min(high, end + WINDOW)]), begin - first)
        if match is None:
            return False
        line = self._line + candidate.line
        if low == 0 and block.continued and self._previous_line.get(index) == line:
            return True
        self._previous_line[index] = line
        self._counts[index] += 1
        if index >= self._known:
            self._excerpt(block, index - self._known, low, line)
        else:
            self._keep(block, candidate, _Found(first + match.start(), match))
        return True

    def _keep(self, block: AnyBlock, candidate: MatchCandidate, found: _Found) -> None:
        """Keep the first hits of all and of each rank; others only as long as they are the latest."""
        index = candidate.pattern
        kept = self._kept.setdefault(index, [])
        if len(kept) < KEPT and self._stale[index] < STALE:
            begin = _head(_start(block, candidate), found.start - candidate.low)
            number = next((n for n in (begin.rank, begin.weak, begin.own) if n is not None), None)
            slot = (index, number)
            self._per_rank[slot] += 1
            if self._per_rank[slot] <= PER_RANK or len(kept) < FIRST:
                kept.append(self._raw(block, candidate, found, begin))
                self._stale[index] = 0
                return
            self._stale[index] += 1
        self._recent.setdefault(index, deque(maxlen=LAST)).append((candidate, found))

    def _raw(self, block: AnyBlock, candidate: MatchCandidate, found: _Found, begin: Head | None = None) -> _Raw:
        index, _, low, high, line = candidate
        data, (start, match) = block.data, found
        first = max(low, start - 4096)
        return _Raw(
            index,
            match,
            self._line + line,
            self._size + low,
            data[low : min(high, low + 240)],
            data[first : min(high, found.end + 4096)],
            start - first,
            begin,
            data[max(0, low - 3072) : low],
            self._before if low < 1024 else b"",
        )

    def _above(self, block: AnyBlock, low: int) -> bytes:
        """The lines above an offset, a few thousand bytes."""
        above = bytes(block.data[max(0, low - 3072) : low]).replace(b"\r", b"\n")
        return self._before + above if low < 1024 else above

    def _hit(self, raw: _Raw) -> LineMatch:
        match, stop = raw.match, raw.lead + raw.match.end() - raw.match.start()
        lead = raw.part[: raw.lead].decode("utf-8", "replace")
        core = raw.part[raw.lead : min(stop, raw.lead + 4096)].decode("utf-8", "replace")
        text = lead + core + raw.part[stop:].decode("utf-8", "replace")
        begin = raw.begin or _head(raw.start, raw.lead)
        above = raw.before + raw.above.replace(b"\r", b"\n")
        groups = {name: value for name, value in match.groupdict().items() if value is not None}
        return LineMatch(
            signature=self._names[raw.pattern],
            line=raw.line,
            rank=begin.rank,
            weak=begin.weak,
            own=begin.own,
            source=begin.source,
            stamp=begin.stamp or stamp_above(above, begin.rank),
            exact=begin.stamp is not None,
            said=ShapedText(quote_text(text, len(lead), len(lead) + len(core)), self._shapes),
            values={name: plain(value.decode("utf-8", "replace"))[:80] for name, value in groups.items()},
            order=raw.order,
        )

    def _excerpt(self, block: AnyBlock, kind: int, low: int, line: int) -> None:
        if len(self._excerpts) + len(self._open) >= MAX_EXCERPTS:
            return
        begin = head(block.data[low : low + 400].replace(b"\r", b"\n").decode("utf-8", "replace"))
        back = (self._before if low < 4096 else b"") + bytes(block.data[max(0, low - 4096) : low])
        excerpt = Excerpt(
            kind=kind,
            before=_text(back[-4096:]),
            text=_text(bytes(block.data[low : min(block.stop, low + EXCERPT)])),
            line=line,
            stamp=begin.stamp or stamp_above(self._above(block, low), begin.rank),
            order=self._size + low,
        )
        short = block.stop - low < EXCERPT and not block.last
        (self._open if short else self._excerpts).append(excerpt)

    def _complete(self, block: AnyBlock) -> None:
        """Add the start of this block to excerpts that ran into the end of the one before."""
        if self._open:
            more = _text(bytes(block.data[: min(block.stop, EXCERPT)]))
            self._excerpts += [msgspec.structs.replace(item, text=(item.text + more)[:EXCERPT]) for item in self._open]
            self._open = []

    def finish(self, *, damage: str) -> FileScan:
        """Everything that was kept."""
        hits = [self._hit(raw) for index in self._kept for raw in (*self._kept[index], *self._last.get(index, ()))]
        end = bytes(self._end)
        if len(end) == self._kept_end:
            end = end[end.find(b"\n") + 1 :]
        last = Kept(_lines(end), self._shapes)
        return FileScan(
            file=self._file,
            hits=sorted(hits, key=lambda hit: hit.order),
            counts={self._names[index]: count for index, count in self._counts.items() if index < self._known},
            excerpts=self._excerpts + self._open,
            first=last if self._start == end else Kept(_lines(self._start), self._shapes),
            last=last,
            end_line=max(1, self._line - end.count(b"\n")),
            end_offset=self._size - len(end),
            first_line=self._first_line,
            lines=self._line - self._first_line + 1 - (not end or end.endswith(b"\n")),
            size=self._size,
            damage=damage or ("holes" if self._blank and not self._size else ""),
        )


_MAY_BE_STAMPED = re.compile(rb"\d:\d\d:\d\d|\d{10}\.\d")


def _start(block: AnyBlock, candidate: MatchCandidate) -> bytes | bytearray:
    return block.data[candidate.low : min(candidate.high, candidate.low + 240)]


def _head(start: bytes | bytearray, at: int) -> Head:
    """Read the start of a line, or of the part of it that another rank wrote into it and that holds an offset."""
    text = start.decode("utf-8", "replace")
    return head(text[max((begin for begin in parts(text) if begin <= at), default=0) :])


def stamp_above(above: bytes, rank: int | None) -> Stamp | None:
    """Time of the nearest line above that the same rank printed; of any line where the rank is not known."""
    for raw in reversed(above.split(b"\n")[-32:]):
        if _MAY_BE_STAMPED.search(raw[:200]) is None:
            continue
        other = head(raw[:200].decode("utf-8", "replace"))
        if other.stamp is not None and (other.rank == rank or None in {other.rank, rank}):
            return other.stamp
    return None


def _text(data: bytes) -> str:
    """Kept bytes as text in which a line feed is a line of the file; a carriage return within one stays."""
    return _lines(data).decode("utf-8", "replace")


def _lines(data: bytes) -> bytes:
    """Kept bytes as lines of the job: what distkb said is none."""
    return without_ours(data).replace(b"\r\n", b"\n")
