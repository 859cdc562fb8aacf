"""Opens what was given as text: regular files only, unpacked, decoded to UTF-8, never blocking."""

from __future__ import annotations

import codecs
import errno
import io
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

from distkb.evidence.text.tables import TABLE, NamedRows, columns
from distkb.evidence.text.unpacking import Unpacked, machine_for, packed, without_holes

if TYPE_CHECKING:
    from collections.abc import Callable

SNIFF = 8192
"""Bytes read to tell text from binary."""
ROOTS = "DISTKB_ROOTS"
"""Variable with the folders outside of which no file is opened, joined as in PATH; unset or empty: anywhere."""


class Readable(Protocol):
    """Anything that yields bytes on demand."""

    def read(self, size: int, /) -> bytes:
        """Next bytes, at most `size`; empty at the end."""
        ...


class UnreadableError(Exception):
    """A file that cannot be read as a log; `code` and `detail` go into a `Skipped`."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail


def reason(error: OSError | ValueError) -> tuple[str, str]:
    """Code and detail of a `Skipped` for an error of the file system."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return "missing", ""
    if isinstance(error, PermissionError):
        return "permission", ""
    if isinstance(error, OSError) and error.errno in {40, 62}:  # ELOOP on Linux and macOS
        return "loop", ""
    return "unreadable", str(getattr(error, "strerror", None) or error)


def size_of(path: Path) -> int:
    """Return how many bytes a file holds; 0 where the system does not say."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def open_regular(path: str | Path) -> BinaryIO:
    """Open a regular file for reading, and refuse FIFOs, sockets and devices without waiting for them.

    Raises:
        UnreadableError: it is no regular file, or lies outside the roots.
        OSError: the system refuses it.
    """
    if _outside(path):
        raise UnreadableError("outside")
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UnreadableError("not-a-file")
    return cast("BinaryIO", os.fdopen(descriptor, "rb", buffering=0))


def start_of(path: str | Path, most: int) -> bytes:
    """Return the first bytes of a regular file, at most so many.

    Raises:
        OSError: the system refuses it, or it is no regular file.
    """
    try:
        with open_regular(path) as raw:
            return io.BufferedReader(cast("io.RawIOBase", raw)).read(most)
    except UnreadableError as error:
        raise OSError(errno.EINVAL, error.code, str(path)) from error


def _outside(path: str | Path) -> bool:
    """Whether a file lies outside the folders that may be read, wherever links lead."""
    roots = [root for root in os.environ.get(ROOTS, "").split(os.pathsep) if root]
    if not roots:
        return False
    real = Path(os.path.realpath(path))
    return not any(real.is_relative_to(os.path.realpath(root)) for root in roots)


def open_text(path: Path) -> tuple[BinaryIO, Readable]:
    """Open a log: the raw file to close, and a reader of its text as UTF-8 bytes.

    Raises:
        UnreadableError: empty, binary, no regular file, or packed in a way that is not understood.
        OSError: the system refuses it.
    """
    raw = open_regular(path)
    try:
        return raw, _text(path, raw)
    except BaseException:
        raw.close()
        raise


def _text(path: Path, raw: BinaryIO) -> Readable:
    magic = raw.read(6)
    raw.seek(0)
    reader: Readable = _unpacked(path, raw, magic) if packed(magic) else without_holes(raw)
    start = reader.read(SNIFF)
    if not start:
        raise UnreadableError(getattr(reader, "damage", "") or "empty")
    if is_binary(start):
        raise UnreadableError("binary")
    encoding, mark = _encoding(start)
    if encoding is None and path.suffix.lower() == TABLE and (names := columns(start[mark:])):
        return NamedRows(names, Prefixed(start[mark:], reader))
    if encoding is None and reader is raw:
        raw.seek(mark)
        return raw
    if encoding is None:
        return Prefixed(start[mark:], reader)
    return Recoded(Prefixed(start[mark:], reader), encoding)


def _unpacked(path: Path, raw: BinaryIO, magic: bytes) -> Unpacked:
    machine = machine_for(magic)
    if machine is None:
        raise UnreadableError("compression", path.suffix)
    return Unpacked(raw, machine)


class Prefixed:
    """A reader that first gives back what was already read."""

    def __init__(self, start: bytes, inner: Readable) -> None:
        self._start = start
        self._inner = inner

    @property
    def damage(self) -> str:
        """Why the data ended early; empty where it did not."""
        return str(getattr(self._inner, "damage", ""))

    def read(self, size: int, /) -> bytes:
        """Next bytes."""
        if self._start:
            start, self._start = self._start[:size], self._start[size:]
            return start + self._inner.read(size - len(start)) if len(start) < size else start
        return self._inner.read(size)


class Recoded:
    """A reader of UTF-16 as UTF-8."""

    def __init__(self, inner: Prefixed, encoding: str) -> None:
        self._inner = inner
        self._decode: Callable[..., str] = codecs.getincrementaldecoder(encoding)(errors="replace").decode
        self._ended = False

    @property
    def damage(self) -> str:
        """Why the data ended early; empty where it did not."""
        return self._inner.damage

    def read(self, size: int, /) -> bytes:
        """Next bytes, at most three times `size`; empty at the end only."""
        while not self._ended:
            data = self._inner.read(size)
            self._ended = not data
            text = self._decode(data, not data).encode("utf-8", "replace")
            if text:
                return text
        return b""


class SomeLines:
    """A reader of some of the lines that another reader gives."""

    def __init__(self, inner: Readable, first: int, stop: int | None = None) -> None:
        """Take a reader at its first line, and the numbers of the first line to give and of the first one after."""
        self._inner = inner
        self._skip = first - 1
        self._left = None if stop is None else stop - first

    @property
    def damage(self) -> str:
        """Why the data ended early; empty where it did not."""
        return str(getattr(self._inner, "damage", ""))

    def read(self, size: int, /) -> bytes:
        """Next bytes, as many as the other reader gives at most; empty at the end only."""
        while self._left != 0 and (data := self._inner.read(size)):
            feeds = data.count(b"\n")
            if self._skip > feeds:
                self._skip -= feeds
                continue
            wanted = _behind(data, self._skip)
            self._skip = 0
            if self._left is not None:
                feeds = min(wanted.count(b"\n"), self._left)
                self._left -= feeds
                wanted = wanted[: len(wanted) - len(_behind(wanted, feeds))] if not self._left else wanted
            if wanted:
                return wanted
        return b""


def _behind(data: bytes, feeds: int) -> bytes:
    """What stands behind so many line feeds."""
    return data.split(b"\n", feeds)[feeds] if feeds else data


def _encoding(start: bytes) -> tuple[str | None, int]:
    """Encoding to convert from (None for UTF-8 and its relatives) and length of the byte order mark."""
    if start[:3] == codecs.BOM_UTF8:
        return None, 3
    if start[:2] == codecs.BOM_UTF16_LE:
        return "utf-16-le", 2
    if start[:2] == codecs.BOM_UTF16_BE:
        return "utf-16-be", 2
    if len(start) >= 16 and 0 in start:
        even, odd = start[::2].count(0), start[1::2].count(0)
        if odd > len(start) * 0.4 and even < len(start) * 0.05:
            return "utf-16-le", 0
        if even > len(start) * 0.4 and odd < len(start) * 0.05:
            return "utf-16-be", 0
    return None, 0


def is_binary(start: bytes) -> bool:
    """Whether the first bytes of a file are no text. A log with some NULs in it is text."""
    if not start or _encoding(start)[0] is not None:
        return False
    if packed(start) or start[:4] in {b"\x7fELF", b"PK\x03\x04", b"\x89PNG"} or start[:2] == b"\x80\x02":
        return True
    body = start.replace(b"\0", b"")
    if not body:
        return False  # a log that was truncated while it was written starts with a hole
    odd = len(body) - len(body.translate(None, _CONTROL))
    broken = body.decode("utf-8", "replace").count("\ufffd") if not body.isascii() else 0
    holes = len(start) - len(body)
    return (
        odd > len(body) * 0.05 or broken > len(body) * 0.3 or (broken > len(body) * 0.02 and holes > len(start) * 0.05)
    )


_CONTROL = bytes([*range(1, 7), *range(14, 27), *range(28, 32)])
"""Control bytes that no program prints in text: neither bell, backspace, layout nor escape."""
