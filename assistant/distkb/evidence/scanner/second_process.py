"""A second process that looks for candidates in a part of all that is read, where it is much and the system allows."""

from __future__ import annotations

import gc
import marshal
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from distkb.evidence.scanner.blocks import SIZE, SMALL, AnyBlock, Block, UnreadBlock, blocks, cleaned
from distkb.evidence.text.opening import UnreadableError, open_regular, open_text, size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import Any

    from distkb.evidence.text.opening import Readable

    Locate = Callable[[Block], tuple[Sequence[tuple[int, ...]], int]]

LARGE = 64 << 20
"""Bytes of all files together above which they are worth a second process."""
THEIRS = 6 << 20
"""Most bytes of a part that the other process scans."""
OWN = 5 << 20
"""And of one that this process scans, in turn: it has more to do with each."""
REACH = 1 << 20
"""Bytes in which a part must find the start of a line."""


class Located(NamedTuple):
    """The candidates of a block, in order, and its number of line feeds."""

    candidates: Sequence[tuple[int, ...]]
    newlines: int


class Range:
    """Some bytes of a file as a stream; others may read the file at the same time."""

    def __init__(self, descriptor: int, start: int, stop: int | None) -> None:
        """Take the offsets; without `stop`, up to the end of the file."""
        self._descriptor = descriptor
        self._at = start
        self._stop = stop

    def read(self, size: int, /) -> bytes:
        """Next bytes, empty at the end."""
        room = size if self._stop is None else min(size, self._stop - self._at)
        data = os.pread(self._descriptor, room, self._at) if room > 0 else b""
        self._at += len(data)
        return data

    def readinto(self, room: memoryview, /) -> int:
        """Read into a buffer; how many bytes came, 0 at the end."""
        if self._stop is not None:
            room = room[: max(0, self._stop - self._at)]
        count = os.preadv(self._descriptor, [room], self._at) if room else 0
        self._at += count
        return count


class Part(NamedTuple):
    """Lines of one file that one process scans."""

    path: Path
    start: int
    stop: int | None
    """None: up to the end of the file."""
    theirs: bool


def is_plain(stream: object) -> bool:
    """Whether a stream is a file as it lies there, which can be read from any offset."""
    return hasattr(stream, "fileno") and not hasattr(stream, "damage")


def worth_sharing(paths: Sequence[Path]) -> bool:
    """Whether there is much to read, and this process may have another beside it."""
    if sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2 or threading.active_count() > 1:
        return False
    return sum(map(size_of, paths)) >= LARGE


def plan(paths: Sequence[Path]) -> list[Part]:
    """Cut all files into parts, in turn of this process and of the other, as far as one is behind its share."""
    parts: list[Part] = []
    own = theirs = 0
    for path in paths:
        size, cut = size_of(path), 0
        while True:
            turn = theirs * OWN < own * THEIRS
            wanted = cut + (THEIRS if turn else OWN)
            stop = _line_after(path, wanted) if wanted < size else None
            parts.append(Part(path, cut, stop, turn))
            length = (size if stop is None else stop) - cut
            own, theirs = (own, theirs + length) if turn else (own + length, theirs)
            if stop is None:
                break
            cut = stop
    return parts


class SecondProcess:
    """The other process, seen from this one. Without it, all parts are left to this process."""

    def __init__(self, paths: Sequence[Path], locate: Locate) -> None:
        """Start it on its parts of the files, which are then to be taken in this order."""
        self._locate = locate
        self._parts: dict[Path, list[tuple[int, Part]]] = {}
        parts = plan(paths)
        for number, part in enumerate(parts):
            self._parts.setdefault(part.path, []).append((number, part))
        self._buffer = bytearray(SIZE)
        self._room = memoryview(self._buffer)
        self._waiting: Any = None
        self._pid = 0
        reading, writing = os.pipe()
        self._answers = os.fdopen(reading, "rb", buffering=1 << 16)
        try:
            self._pid = os.fork()
        except OSError:
            os.close(writing)
            return
        if self._pid == 0:
            code = 1
            try:
                os.close(reading)  # so that a write fails as soon as the first process is gone
                gc.disable()
                _work(parts, locate, writing)
                code = 0
            finally:
                os._exit(code)
        os.close(writing)

    def blocks(self, path: Path, stream: Readable) -> Iterator[tuple[AnyBlock, Located]] | None:
        """Blocks of a plain file from where it stands, each with its candidates; None where it is not shared."""
        parts = self._parts.get(path)
        return None if parts is None or not is_plain(stream) else self._blocks(parts, stream)

    def _blocks(self, parts: Sequence[tuple[int, Part]], stream: Any) -> Iterator[tuple[AnyBlock, Located]]:
        descriptor, at = stream.fileno(), stream.tell()
        for number, part in parts:
            start = reached = max(at, part.start)
            if part.theirs:
                ended = False
                for block, located in self._told(number, descriptor, start):
                    yield block, located
                    reached, ended = start + block.begin + block.raw, block.last
                if ended:
                    return
            if part.stop is None or reached < part.stop:
                for block in _cut(descriptor, reached, part.stop):
                    yield block, Located(*self._locate(block))

    def _told(self, part: int, descriptor: int, start: int) -> Iterator[tuple[AnyBlock, Located]]:
        """Blocks of one part, as far as the other process tells of them."""
        while (row := self._row(part)) is not None:
            begin, raw, continued, stop, last, candidates, newlines = row
            if not candidates and not continued and raw == stop:
                yield UnreadBlock(descriptor, start + begin, stop, last, begin), Located(candidates, newlines)
                continue
            count = os.preadv(descriptor, [self._room[:raw]], start + begin)
            block = cleaned(self._buffer, count, last=last, continued=continued, begin=begin)
            if count == raw and block.stop == stop:
                yield block, Located(candidates, newlines)
            else:  # the file has changed in the meantime
                yield block, Located(*self._locate(block))

    def _row(self, part: int) -> Any:
        """The next row about a part; None at its end. What was told of parts before it is passed over."""
        while True:
            told = self._waiting or self._next()
            self._waiting = None
            if told is None:
                return None
            number, row = told
            if number == part:
                return row
            if number > part:
                self._waiting = told
                return None

    def _next(self) -> Any:
        try:
            return marshal.load(self._answers)  # noqa: S302 - written by our own child
        except (EOFError, ValueError, TypeError, OSError):
            return None

    def end(self) -> None:
        """Leave no process behind."""
        self._answers.close()
        if self._pid:
            with suppress(OSError):
                os.kill(self._pid, signal.SIGKILL)
            with suppress(OSError):
                os.waitpid(self._pid, 0)


def _work(parts: Sequence[Part], locate: Locate, writing: int) -> None:
    """Body of the other process: tell of each block of its parts, then that the part is at its end."""
    with os.fdopen(writing, "wb", buffering=1 << 16) as answers:
        for number, part in enumerate(parts):
            if part.theirs:
                with suppress(UnreadableError, OSError):  # the first process will meet the same, and say it
                    raw, stream = open_text(part.path)
                    with raw:
                        if is_plain(stream):
                            for row in _rows(part, raw.fileno(), raw.tell(), locate):
                                marshal.dump((number, row), answers)
                marshal.dump((number, None), answers)
                answers.flush()


def _rows(part: Part, descriptor: int, at: int, locate: Locate) -> Iterator[tuple[Any, ...]]:
    for block in _cut(descriptor, max(at, part.start), part.stop):
        candidates, newlines = locate(block)
        told = [tuple(candidate) for candidate in candidates]
        yield block.begin, block.raw, block.continued, block.stop, block.last, told, newlines


def _cut(descriptor: int, start: int, stop: int | None) -> Iterator[Block]:
    """Blocks of one part; its last one is the last of the file only if the part is."""
    part = Range(descriptor, start, stop)
    for block in blocks(part, SIZE, min(SIZE, SMALL) if not start else SIZE):
        yield block.in_file(last=stop is None)


def _line_after(path: Path, offset: int) -> int | None:
    """Offset of the first line that starts at an offset or after it; None where none is near."""
    try:
        with open_regular(path) as raw:
            found = _newline(raw.fileno(), offset)
    except (OSError, UnreadableError):
        return None
    return offset + found + 1 if found >= 0 else None


def _newline(descriptor: int, start: int) -> int:
    """Offset from `start` of the next line feed; -1 where none is near."""
    near = os.pread(descriptor, 1 << 14, start).find(b"\n")
    return near if near >= 0 else os.pread(descriptor, REACH, start).find(b"\n")
