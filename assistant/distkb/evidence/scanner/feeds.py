"""Counts line feeds: `bytes.count` looks at one byte after the other, a third of the work on large files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Count = Callable[[bytes | bytearray, int, int], int]

AT_ONCE = 1 << 19
"""Bytes that are counted in one go."""
FEW = 1 << 14
"""Bytes below which nothing is gained."""


def plain(data: bytes | bytearray, start: int, stop: int) -> int:
    """Line feeds in a part of a buffer."""
    return data.count(b"\n", start, stop)


def fast() -> Count:
    """Return the quickest way to count them on this machine; worth its import for large files.

    It is the number of places where the text equals one of nothing but line feeds, and rapidfuzz compares many places
    at once.
    """
    try:
        from rapidfuzz.distance import Hamming
    except ImportError:
        return plain
    similarity = Hamming.similarity
    if "cpp" not in similarity.__module__:  # its stand-in in Python is far slower
        return plain
    feeds = b"\n" * AT_ONCE

    def count(data: bytes | bytearray, start: int, stop: int) -> int:
        if stop - start < FEW:
            return data.count(b"\n", start, stop)
        found = 0
        view = memoryview(data)
        for low in range(start, stop, AT_ONCE):
            found += int(similarity(bytes(view[low : min(stop, low + AT_ONCE)]), feeds))
        return found

    return count
