"""Unpacks what was given, up to a bound and never with a decompressor that failed; skips the holes of sparse files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from distkb.evidence.text.opening import Readable

FREE: Final = 32 << 20
"""Bytes that may come out of however little."""
RATIO: Final = 250
"""Times that what comes out may be larger than what went in: text that a run prints packs to a tenth or a fiftieth."""
LARGE: Final = 256 << 20
"""Bytes from which on less is believed."""
RATIO_OF_LARGE: Final = 100
"""Times that so much may be larger than what went in: the fastest level of gzip packs nothing but NULs to 1/229."""
MOST: Final = 16 << 30
"""Bytes that may come out of one file."""
MEMORY: Final = 128 << 20
"""Bytes that unpacking may take; `xz -9` asks for 65 MiB."""
_PIECE: Final = 1 << 10
"""Packed bytes that are unpacked at once: what came before damage in one of them is lost."""
_ROOM: Final = 1 << 20
SPARSE: Final = 1 << 20
"""Bytes of a file that were never written, from which it is read around them."""


class _Machine(Protocol):
    """What unpacks one stream; the members of `bz2` and `lzma` are the standard, `_Gzip` follows them."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _Gzip:
    """A stream of gzip, with its sums checked."""

    def __init__(self) -> None:
        import zlib

        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


_MAGIC: Final = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd")


def packed(magic: bytes) -> bool:
    """Whether a file that begins like this is packed."""
    return magic.startswith(_MAGIC)


def machine_for(magic: bytes) -> Callable[[], _Machine] | None:
    """Return what makes the machine that unpacks a file which begins like this; None where this Python has none."""
    try:
        if magic.startswith(_MAGIC[0]):
            import zlib  # noqa: F401 - whether it is there

            return _Gzip
        if magic.startswith(_MAGIC[1]):
            import bz2

            return cast("Callable[[], _Machine]", bz2.BZ2Decompressor)
        if magic.startswith(_MAGIC[2]):
            import lzma

            return lambda: cast("_Machine", lzma.LZMADecompressor(memlimit=MEMORY))
    except ImportError:
        pass
    return None


class Unpacked:
    """A reader of packed data that yields what can be unpacked, and then knows why it ended early."""

    def __init__(self, raw: BinaryIO, make: Callable[[], _Machine]) -> None:
        """Take the packed file and what makes a machine for each of the streams in it."""
        self._raw = raw
        self._make = make
        self._machine: _Machine | None = make()
        self._waiting = b""
        self._in = self._out = 0
        self.damage = ""
        """Code of a `Skipped`: `bad-gzip` for damage, `too-packed` for more than anybody's log; empty for none."""

    def read(self, size: int, /) -> bytes:
        """Next bytes; empty at the end and after damage."""
        parts: list[bytes] = []
        wanted = size
        while wanted > 0 and self._machine is not None:
            part = self._more(self._machine, min(wanted, _ROOM))
            if part:
                parts.append(part)
                wanted -= len(part)
        return b"".join(parts)

    def _more(self, machine: _Machine, room: int) -> bytes:
        data = b""
        if machine.needs_input and not machine.eof:
            data = self._waiting or self._raw.read(_PIECE) or b""
            self._waiting = b""
            self._in += len(data)
            if not data:
                return self._end("bad-gzip")
        try:
            part = machine.decompress(data, room)
        except Exception:  # noqa: BLE001 - each kind has its own errors; none of them leaves the machine fit for use
            return self._end("bad-gzip")
        self._out += len(part)
        if self._out > min(MOST, max(FREE, RATIO * self._in if self._out < LARGE else RATIO_OF_LARGE * self._in)):
            self._end("too-packed")
        elif machine.eof:
            self._next(machine)
        return part

    def _next(self, machine: _Machine) -> None:
        """Go on with the stream that follows, if one does: logs are packed piece by piece and put together."""
        rest = machine.unused_data
        while not (rest := rest.lstrip(b"\0")) and (more := self._raw.read(_PIECE)):
            rest = more
            self._in += len(more)
        if not rest:
            self._machine = None
        elif len(rest) < len(max(_MAGIC, key=len)):
            rest += self._raw.read(_PIECE) or b""
        self._waiting = rest
        if rest:
            self._machine = self._make() if packed(rest) else None
            self.damage = "" if self._machine else "bad-gzip"

    def _end(self, damage: str) -> bytes:
        self._machine = None
        self.damage = damage
        return b""


class _Written:
    """A reader of what was written of a sparse file."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._at = self._stop = 0
        self.damage = ""
        """`holes` once one was left out."""

    def read(self, size: int, /) -> bytes:
        """Next bytes; empty at the end."""
        descriptor = self._raw.fileno()
        if self._at >= self._stop:
            try:
                start = os.lseek(descriptor, self._at, os.SEEK_DATA)
                self._stop = os.lseek(descriptor, start, os.SEEK_HOLE)
            except OSError:  # nothing is written behind this place
                start = self._stop = os.fstat(descriptor).st_size
            self.damage = "holes" if start > self._at else self.damage
            self._at = start
        data = os.pread(descriptor, max(0, min(size, self._stop - self._at)), self._at)
        self._at += len(data)
        return data


def without_holes(raw: BinaryIO) -> Readable:
    """Return the file itself, or for one with large holes a reader of what was written."""
    status = os.fstat(raw.fileno())
    unwritten = status.st_size - getattr(status, "st_blocks", status.st_size) * 512
    return _Written(raw) if unwritten >= SPARSE and hasattr(os, "SEEK_DATA") else raw
