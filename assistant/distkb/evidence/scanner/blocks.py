"""Cuts a stream of text into blocks of whole lines, ready to be scanned."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.evidence.text.opening import Readable

SIZE = 1 << 19
"""Bytes of a block: what the cache of one core holds, with room to spare."""
SMALL = 1 << 18
"""Bytes of the first block, so that small files cost little."""
OVERLAP = 1 << 16
"""Bytes that two pieces of one very long line share."""

_ESCAPES = re.compile(
    rb"\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b\n]*(?:\x1b\\)?|\x1b\[[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?"
)


class Block(msgspec.Struct, frozen=True):
    """Some lines of a file. Its buffer is used again for later blocks."""

    data: bytes | bytearray
    """Text without escape sequences and NULs. Carriage returns are kept: only line feeds end the
    lines that editors count, but both end what is looked at as a line."""
    stop: int
    """Where the text ends in the buffer."""
    last: bool
    continued: int
    """Where the block starts inside a line: how many of its first bytes repeat the end of the block before."""
    begin: int = 0
    """Offset in the stream."""
    raw: int = 0
    """Bytes of the stream that it was made of."""

    def tail(self, size: int) -> memoryview:
        """Return the last bytes of the text."""
        return memoryview(self.data)[max(0, self.stop - size) : self.stop]

    def in_file(self, *, last: bool) -> Block:
        """The same block; of a part of a file, the last one is the last of the file only if the part is."""
        return self if last or not self.last else msgspec.structs.replace(self, last=False)


class UnreadBlock(msgspec.Struct, frozen=True):
    """Some lines of a file in which there is nothing to be found or cleaned: read only as far as they are asked for."""

    descriptor: int
    start: int
    """Offset in the file."""
    stop: int
    """How many bytes they are."""
    last: bool
    begin: int
    """Offset in the stream."""
    continued: int = 0

    @property
    def raw(self) -> int:
        """Bytes of the stream that it was made of."""
        return self.stop

    @property
    def data(self) -> bytes:
        """All of the text."""
        return os.pread(self.descriptor, self.stop, self.start)

    def tail(self, size: int) -> memoryview:
        """Return the last bytes of the text."""
        size = min(size, self.stop)
        return memoryview(os.pread(self.descriptor, size, self.start + self.stop - size))


AnyBlock = Block | UnreadBlock


def blocks(stream: Readable, size: int = SIZE, first: int = SMALL) -> Iterator[Block]:
    """Yield a stream's lines in blocks of at most `size` bytes; lines longer than that come in overlapping pieces.

    The first one has `first` bytes at most. A block's buffer stays as it is until the next one is taken.
    """
    buffer = bytearray(min(first, size))  # most files end here
    filled = begin = 0
    rest = b""
    continued = 0
    ended = False
    overlap = min(OVERLAP, size // 4)
    while not ended:
        if begin and len(buffer) < size:
            buffer = bytearray(size)
        view = memoryview(buffer)
        filled = len(rest)
        view[:filled] = rest
        while filled < len(buffer) and not ended:
            count = _fill(stream, view[filled:])
            ended = count == 0
            filled += count
        cut = filled if ended else _cut(buffer, filled)
        whole = cut > 0 or ended
        stop = cut if whole else filled
        after = stop if whole else stop - overlap
        rest = bytes(view[after:filled])
        yield cleaned(buffer, stop, last=ended, continued=continued, begin=begin)
        continued = stop - after
        begin += after


def _fill(stream: Readable, room: memoryview) -> int:
    """Read into the room that is left; how many bytes came, 0 at the end."""
    readinto = getattr(stream, "readinto", None)
    if readinto is not None:
        return int(readinto(room) or 0)
    data = stream.read(max(1, len(room) // 4))  # decoders may give back more than was asked for
    room[: len(data)] = data
    return len(data)


def _cut(buffer: bytearray, filled: int) -> int:
    """Where the last whole line ends; 0 where there is none. A carriage return ends one too."""
    cut = buffer.rfind(b"\n", 0, filled) + 1
    return cut or buffer.rfind(b"\r", 0, filled) + 1


def cleaned(buffer: bytes | bytearray, stop: int | None = None, *, last: bool, continued: int, begin: int) -> Block:
    """Block of the first bytes of a buffer, without escape sequences and NULs."""
    data = buffer
    raw = stop = len(buffer) if stop is None else stop
    if continued and (data.find(b"\0", 0, continued) >= 0 or data.find(b"\x1b", 0, continued) >= 0):
        continued = cleaned(bytes(memoryview(data)[:continued]), last=False, continued=0, begin=0).stop
    if data.find(b"\x1b", 0, stop) >= 0:
        data = _ESCAPES.sub(b"", bytes(memoryview(data)[:stop]))
        stop = len(data)
    if data.find(b"\0", 0, stop) >= 0:
        data = bytes(memoryview(data)[:stop]).translate(None, b"\0")
        stop = len(data)
    return Block(data, stop, last, continued, begin, raw)
