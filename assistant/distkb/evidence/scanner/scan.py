"""Reads one log file from start to end and keeps what matters: signature hits, tracebacks, its start and its end."""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from distkb.catalogue.effort import LOG_REPEAT
from distkb.catalogue.patterns import bounded
from distkb.evidence.inventory import LogFile
from distkb.evidence.observation import Quote
from distkb.evidence.scanner.blocks import AnyBlock, Block, blocks
from distkb.evidence.scanner.matcher import Candidates, Matcher
from distkb.evidence.scanner.second_process import Located, SecondProcess, worth_sharing
from distkb.evidence.scanner.sieve import EXAMPLE
from distkb.evidence.text.clean import is_ours
from distkb.evidence.text.lines import Stamp
from distkb.evidence.text.opening import UnreadableError, open_regular
from distkb.evidence.text.shapes import Kept, ShapedText, Shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from distkb.catalogue.model import Signature
    from distkb.evidence.text.opening import Readable

WINDOW = 1 << 16
"""Bytes on either side of a candidate in which a long line is looked at."""
EXAMPLES = 8
"""Files that an example of their lines is taken from, about."""
EARLY = 8 << 20
"""Bytes of all files up to which the cheap first look is not worth making it ready."""

_ANCHORS = (
    r"Traceback \(most recent call last\):",
    r"Root Cause \(first observed failure\)",
    r"Fatal Python error: ",
)


class LineMatch(msgspec.Struct, frozen=True, kw_only=True):
    """One line that matches a signature."""

    signature: str
    line: int
    rank: int | None
    weak: int | None
    own: int | None
    source: str
    stamp: Stamp | None
    exact: bool
    """True where the line itself carries the time; else it is that of a line before it."""
    said: ShapedText
    """Fit to be shown."""
    values: dict[str, str]
    order: int
    """Bytes of the file before it."""

    @property
    def text(self) -> str:
        """Text of the line, fit to be shown."""
        return str(self.said)


class Excerpt(msgspec.Struct, frozen=True, kw_only=True):
    """The lines around an anchor, to be parsed later."""

    kind: int
    """Index into the anchors: 0 traceback, 1 torchrun's table, 2 fatal error."""
    before: str
    text: str
    line: int
    """Number of the first line of `text`."""
    stamp: Stamp | None
    order: int


NOTHING = Kept(b"", Shapes())


class FileScan(msgspec.Struct, kw_only=True):
    """What one file holds."""

    file: LogFile
    hits: list[LineMatch] = []
    counts: dict[str, int] = {}
    excerpts: list[Excerpt] = []
    first: Kept = NOTHING
    """Its first lines; the last of them may be cut off."""
    last: Kept = NOTHING
    """Its last lines; all of them where it is small."""
    end_line: int = 1
    """Number of the first of those."""
    end_offset: int = 0
    """Bytes before them."""
    first_line: int = 1
    """Number of its first line, where only a part of the file was read."""
    lines: int = 0
    size: int = 0
    damage: str = ""
    """Code of a `Skipped` where the file was not read to its end."""

    def with_hits(self, hits: list[LineMatch]) -> FileScan:
        """Return the file with some of its hits alone, and the counts of their signatures."""
        kept = {hit.signature for hit in hits}
        counts = {name: count for name, count in self.counts.items() if name in kept}
        return msgspec.structs.replace(self, hits=hits, counts=counts)

    @property
    def start(self) -> str:
        """Text of its first lines."""
        return self.first.text()

    @property
    def end(self) -> str:
        """Text of its last lines."""
        return self.last.text()


class Scanner:
    """All signatures of the catalogue that are looked for in logs, ready to scan files."""

    def __init__(self, signatures: Sequence[Signature], cache_dir: Path | None = None) -> None:
        self.signatures = tuple(signature for signature in signatures if "log" in signature.where)
        self._matcher = Matcher([*(s.pattern for s in self.signatures), *_ANCHORS], cache_dir=cache_dir)
        self._compiled: dict[int, re.Pattern[bytes]] = {}
        self._shapes = Shapes()
        self._second: SecondProcess | None = None
        self._scanned = 0
        self._files = 1

    def is_kept(self) -> bool:
        """Whether `prepare` has nothing to compile."""
        return self._matcher.is_kept()

    def prepare(self) -> None:
        """Compile all patterns, or load what was kept of them, before there is anything to scan."""
        self._matcher.open()

    @contextmanager
    def sharing(self, paths: Sequence[Path]) -> Iterator[None]:
        """Scan these files in this order, and with a second process where that is worth it."""
        self._files = max(1, len(paths))
        if worth_sharing(paths):
            self._matcher.open()
            self._scanned = EARLY
            if (sieve := self._matcher.sieve()) is not None:
                sieve.adapt(_example(paths))
            self._second = SecondProcess(paths, self._locate)
        try:
            yield
        finally:
            if self._second is not None:
                self._second.end()
                self._second = None

    def regex(self, index: int) -> re.Pattern[bytes]:
        """The confirming expression of one signature or anchor, compiled when it is first needed."""
        compiled = self._compiled.get(index)
        if compiled is None:
            known = len(self.signatures)
            pattern = self.signatures[index].pattern if index < known else _ANCHORS[index - known]
            compiled = self._compiled[index] = re.compile(bounded(pattern, LOG_REPEAT).encode(), re.MULTILINE)
        return compiled

    def scan(
        self, file: LogFile, stream: Readable, progress: Callable[[int], None] | None = None, first_line: int = 1
    ) -> FileScan:
        """Read a whole stream; memory does not grow with its length. `progress` is told how many bytes were read.

        `first_line` is the number that its first line has in the file.
        """
        from distkb.evidence.scanner.reading import FilePass

        reading = FilePass(file, self.signatures, self.regex, self._shapes, self._files, first_line)
        for block, located in self._located(file.path, stream):
            reading.take(block, located)
            if progress is not None:
                progress(block.raw or block.stop)
        return reading.finish(damage=str(getattr(stream, "damage", "")))

    def _located(self, path: Path, stream: Readable) -> Iterator[tuple[AnyBlock, Located]]:
        """Blocks with their candidates."""
        shared = self._second.blocks(path, stream) if self._second is not None else None
        return shared or ((block, self._locate(block)) for block in blocks(stream))

    def _locate(self, block: Block) -> Located:
        data, stop = block.data, block.stop
        self._scanned += stop
        view = memoryview(data)[:stop]
        sieve = self._matcher.sieve() if self._scanned > EARLY else None
        ends = sieve.ends(view) if sieve is not None else None
        if ends is not None:
            found = self._matcher.candidates_on(data, _lines_around(data, ends, stop))
        elif data.find(b"\r", 0, stop) >= 0:
            found = self._matcher.candidates(bytes(view).replace(b"\r", b"\n"))
        else:
            found = self._matcher.candidates(view)
        return locate(block, found)


class MatchCandidate(NamedTuple):
    """A place where a pattern may match."""

    pattern: int
    end: int
    low: int
    """Start of its line in the block."""
    high: int
    line: int
    """Lines of the block before it."""


def _example(paths: Sequence[Path]) -> bytes:
    """Some lines from the middle of files here and there."""
    found = []
    for path in paths[:: len(paths) // EXAMPLES + 1]:
        with suppress(OSError, UnreadableError), open_regular(path) as raw:
            raw.seek(max(0, (path.stat().st_size - EXAMPLE) // 2))
            found.append(raw.read(EXAMPLE // EXAMPLES))
    return b"\n".join(found)


def _lines_around(data: bytes | bytearray, ends: Sequence[int], stop: int) -> Iterator[tuple[int, int]]:
    """Start and end of each line that holds one of the offsets."""
    high = -1
    for end in ends:
        if end > high:
            low, high = _line(data, end, stop)
            yield low, high


def _line(data: bytes | bytearray, end: int, stop: int) -> tuple[int, int]:
    """Start and end of the line in which something ends; a carriage return ends a line too."""
    low = data.rfind(b"\n", 0, end) + 1
    low = max(low, data.rfind(b"\r", low, end) + 1)
    high = data.find(b"\n", end, stop)
    high = stop if high < 0 else high
    earlier = data.find(b"\r", end, high)
    return low, high if earlier < 0 else earlier


def locate(block: Block, candidates: Candidates) -> Located:
    """Find the lines in which candidates lie, counting each line feed of the block once. What distkb said is none."""
    found: list[MatchCandidate] = []
    low = high = -1
    line = counted = 0
    seen: set[int] = set()
    ours = False
    data, stop = block.data, block.stop
    for pattern, end in candidates:
        if not low <= end <= high:
            low, high = _line(data, end, stop)
            line += _feeds(data, counted, low)
            counted = low
            seen.clear()
            ours = is_ours(data, low)
        elif pattern in seen and high - low < WINDOW:
            continue  # the whole line is looked at for the first candidate
        seen.add(pattern)
        if not ours:
            found.append(MatchCandidate(pattern, end, low, high, line))
    return Located(found, line + _feeds(data, counted, stop))


def _feeds(data: bytes | bytearray, start: int, stop: int) -> int:
    """Line feeds in a part of a buffer: `count` takes four times as long up to Python 3.12."""
    if not start and 2 * stop > len(data):  # the whole of a buffer is not copied for what lies behind the block
        return len(data) - len(data.replace(b"\n", b"")) - _feeds(data, stop, len(data))
    part = data[start:stop]
    return len(part) - len(part.replace(b"\n", b""))


def hit_quote(scan: FileScan, hit: LineMatch, rank: int | None, time: float | None) -> Quote:
    """Place of a hit as it is shown."""
    return Quote(text=hit.text, path=scan.file.name, line=hit.line, rank=rank, time=time)
