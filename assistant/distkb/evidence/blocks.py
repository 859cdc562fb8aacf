"""Cuts a stream of text into blocks of whole lines, ready to be scanned."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.evidence.opening import Readable

SIZE = 1 << 20
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
    """Text without escape sequences and NULs. Carriage returns are kept: only line feeds end the lines that editors
    count, but both end what is looked at as a line."""
    stop: int
    """Where the text ends in the buffer."""
    last: bool
    continued: bool
    """True where the block starts inside a line; its first bytes repeat the end of the block before."""


def blocks(stream: Readable, size: int = SIZE, ring: int = 1) -> Iterator[Block]:
    """Yield a stream's lines in blocks of at most `size` bytes; lines longer than that come in overlapping pieces.

    A block's buffer stays as it is until `ring` more blocks have been taken.
    """
    buffers: list[bytearray] = []
    filled = turn = 0
    rest = b""
    continued = ended = False
    overlap = min(OVERLAP, size // 4)
    buffer = bytearray()
    while not ended:
        if turn == 0:
            buffer = bytearray(min(SMALL, size))  # most files end here
        else:
            if len(buffers) < ring:
                buffers.append(bytearray(size))
            buffer = buffers[turn % ring - 1]
        turn += 1
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
        rest = bytes(view[stop if whole else stop - overlap : filled])
        yield _block(buffer, stop, last=ended, continued=continued)
        continued = not whole


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


def _block(buffer: bytearray, stop: int, *, last: bool, continued: bool) -> Block:
    data: bytes | bytearray = buffer
    if buffer.find(b"\x1b", 0, stop) >= 0:
        data = _ESCAPES.sub(b"", bytes(memoryview(buffer)[:stop]))
        stop = len(data)
    if data.find(b"\0", 0, stop) >= 0:
        data = bytes(memoryview(data)[:stop]).replace(b"\0", b"")
        stop = len(data)
    return Block(data, stop, last, continued)
