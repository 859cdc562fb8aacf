"""A second process that looks for candidates in every other part of a large file, where the system allows one."""

from __future__ import annotations

import gc
import marshal
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from distkb.evidence.scanner.blocks import SIZE, Block, blocks, cleaned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    Locate = Callable[[Block], tuple[Sequence[tuple[int, ...]], int]]

LARGE = 64 << 20
"""Bytes above which a file is worth a second process."""
PART = 9 << 20
"""Bytes from the start of one part to that of the next but one."""
OWN = 3 << 20
"""Bytes of those that this process scans itself: it has more to do with each."""
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


def divisible(stream: object) -> bool:
    """Whether a stream is a large plain file, and this process may have another beside it."""
    if sys.platform != "linux" or not hasattr(stream, "fileno") or hasattr(stream, "damage"):
        return False
    try:
        size = os.fstat(stream.fileno()).st_size
    except (OSError, ValueError):
        return False
    return size >= LARGE and len(os.sched_getaffinity(0)) > 1 and threading.active_count() == 1


def cuts(descriptor: int, start: int) -> list[int]:
    """Offsets at which parts start, each the start of a line: in turn of this process and of the other."""
    size = os.fstat(descriptor).st_size
    found = [start]
    wanted = start
    while (wanted := wanted + (OWN if len(found) % 2 else PART - OWN)) < size:
        newline = _newline(descriptor, wanted)
        if newline < 0:  # one endless line: leave the rest to one process
            break
        wanted += newline + 1
        found.append(wanted)
    return found


def shared_blocks(stream: BinaryIO, locate: Locate) -> Iterator[tuple[Block, Located]]:
    """Blocks of a large plain file from where it stands, each with its candidates, in order."""
    descriptor = stream.fileno()
    starts = cuts(descriptor, stream.tell())
    partner = _Partner(descriptor, starts, locate)
    try:
        for number, start in enumerate(starts):
            stop = starts[number + 1] if number + 1 < len(starts) else None
            if number % 2 and stop is not None:
                yield from partner.part(start)
                begin = partner.reached
            else:
                begin = start
            if stop is None or begin < stop:
                for block in blocks(Range(descriptor, begin, stop), SIZE, SIZE):
                    yield block.in_file(last=stop is None), Located(*locate(block))
    finally:
        partner.end()


class _Partner:
    """The other process, seen from this one. Without it, all parts are left to this process."""

    def __init__(self, descriptor: int, starts: Sequence[int], locate: Locate) -> None:
        self._descriptor = descriptor
        self._locate = locate
        self.reached = 0
        self._buffer = bytearray(SIZE)
        self._room = memoryview(self._buffer)
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
                _work(descriptor, starts, locate, writing)
                code = 0
            finally:
                os._exit(code)
        os.close(writing)

    def part(self, start: int) -> Iterator[tuple[Block, Located]]:
        """Blocks of one part, as far as the other process tells of them: up to the offset `reached`."""
        self.reached = start
        while (row := self._row()) is not None:
            begin, raw, continued, stop, candidates, newlines = row
            count = os.preadv(self._descriptor, [self._room[:raw]], start + begin)
            block = cleaned(self._buffer, count, last=False, continued=continued, begin=begin)
            if count == raw and block.stop == stop:
                yield block, Located(candidates, newlines)
            else:  # the file has changed in the meantime
                yield block, Located(*self._locate(block))
            self.reached = start + begin + raw

    def _row(self) -> Any:
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


def _work(descriptor: int, starts: Sequence[int], locate: Locate, writing: int) -> None:
    """Body of the other process: tell of each block of its parts, then None."""
    with os.fdopen(writing, "wb", buffering=1 << 16) as answers:
        for number in range(1, len(starts) - 1, 2):
            for block in blocks(Range(descriptor, starts[number], starts[number + 1]), SIZE, SIZE):
                candidates, newlines = locate(block)
                rows = [tuple(candidate) for candidate in candidates]
                marshal.dump((block.begin, block.raw, block.continued, block.stop, rows, newlines), answers)
            marshal.dump(None, answers)
            answers.flush()


def _newline(descriptor: int, start: int) -> int:
    """Offset from `start` of the next line feed; -1 where none is near."""
    near = os.pread(descriptor, 1 << 14, start).find(b"\n")
    return near if near >= 0 else os.pread(descriptor, REACH, start).find(b"\n")
