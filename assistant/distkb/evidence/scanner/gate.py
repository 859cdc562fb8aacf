"""Finds the lines of a text on which any of many patterns may match, by one literal that each pattern needs.

Nothing has to be compiled, so that a short text is done before a database of all patterns would be made.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from distkb.catalogue.kept import keep, read_kept
from distkb.evidence.scanner.literals import telling_literals

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_FORMAT = "2"

Literals = list[tuple[str, ...] | None]
"""By pattern: texts of which every match holds one; None where nothing is known of its matches."""


class Gate:
    """Literals of all patterns; whether a pattern really matches is left to the caller and `re`."""

    def __init__(self, patterns: Sequence[str], *, cache_dir: Path | None = None) -> None:
        self._gated: dict[bytes, list[int]] = {}
        self._folded: dict[bytes, list[int]] = {}
        self._ungated: list[int] = []
        for index, (pattern, literals) in enumerate(zip(patterns, _literals(patterns, cache_dir), strict=True)):
            if literals is None:
                self._ungated.append(index)
            elif "(?i" in pattern:
                for literal in {literal.lower().encode() for literal in literals}:
                    self._folded.setdefault(literal, []).append(index)
            else:
                for literal in {literal.encode() for literal in literals}:
                    self._gated.setdefault(literal, []).append(index)

    def candidates(self, data: bytes) -> list[tuple[int, int]]:
        """Ends of the literals, one for each line that holds one, more for very long lines."""
        found: set[tuple[int, int]] = set()
        for literal, indices in self._gated.items():
            found.update((index, end) for end in _line_ends(data, literal) for index in indices)
        if self._folded:
            lowered = data.lower()
            for literal, indices in self._folded.items():
                found.update((index, end) for end in _line_ends(lowered, literal) for index in indices)
        if self._ungated:
            for _, end in pieces(data):
                found.update((index, end) for index in self._ungated)
        return sorted(found, key=lambda item: item[1])


def _line_ends(data: bytes, literal: bytes) -> Iterator[int]:
    at = data.find(literal)
    while at >= 0:
        yield at + len(literal)
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        at = data.find(literal, min(end, at + (1 << 15)))


def pieces(data: bytes) -> Iterator[tuple[int, int]]:
    """Start and end of each line; very long lines in parts that overlap."""
    start, size = 0, len(data)
    while start < size:
        stop = data.find(b"\n", start)
        stop = size if stop < 0 else stop
        if stop - start <= 1 << 16:
            if stop > start:
                yield start, stop
        else:
            for part in range(start, stop, 1 << 15):
                yield part, min(stop, part + (1 << 16))
        start = stop + 1


def _literals(patterns: Sequence[str], cache_dir: Path | None) -> Literals:
    """Literals of the patterns, from the cache directory where they were kept."""
    path = None
    if cache_dir is not None:
        key = hashlib.sha256("\0".join((_FORMAT, *patterns)).encode()).hexdigest()[:24]
        path = cache_dir / f"literals-{key}.msgpack"
        body = read_kept(path)
        if body is not None:
            try:
                return msgspec.msgpack.decode(body, type=Literals)
            except msgspec.DecodeError:
                pass
    found: Literals = [None if (one := telling_literals(p)) is None else tuple(one) for p in patterns]
    if path is not None:
        keep(path, msgspec.msgpack.encode(found))
    return found
