"""Tells on which rows of a text each of many patterns may match, from all the literals that its matches need.

One pass over each row finds the literals in it, however many patterns there are; a pattern is then tried only where
every part of it that is not left out has one of its literals. Nothing has to be compiled before a short text is done.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from functools import lru_cache
from operator import add
from typing import TYPE_CHECKING

import msgspec

from distkb.catalogue.kept import keep, read_kept
from distkb.evidence.scanner.literals import Need, needed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_FORMAT = "1"
_GRAM = 4
"""Characters by which literals are looked up; shorter literals are looked up as they are."""


class _Test(msgspec.Struct, frozen=True, array_like=True):
    """A need whose literals are numbers: one of them, or one of the other tests, and all of `every`."""

    literals: frozenset[int] = frozenset()
    some: tuple[_Test, ...] = ()
    every: tuple[_Test, ...] = ()

    def holds(self, found: set[int]) -> bool:
        if self.every:
            return all(test.holds(found) for test in self.every)
        return not found.isdisjoint(self.literals) or any(test.holds(found) for test in self.some)


class _Tables(msgspec.Struct, frozen=True, array_like=True):
    """What is worked out of the patterns once, and kept."""

    literals: list[str]
    holders: dict[str, list[int]]
    """By a piece of text the literals that hold it: each literal under its rarest piece."""
    always: list[int]
    """Patterns of whose matches nothing is known."""
    ways: list[tuple[int, _Test]]
    """Ways in which a pattern can match."""
    wanted: dict[int, list[int]]
    """By literal the ways that are looked at where it is found."""


class Needs:
    """What the matches of all patterns need; whether one really matches is left to the caller and `re`."""

    def __init__(self, patterns: Sequence[str], *, cache_dir: Path | None = None) -> None:
        """Take patterns whose letters match regardless of case by their `(?i)` or not at all."""
        self._tables = _tables(tuple(patterns), cache_dir)

    def candidates(self, rows: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Yield each pattern with each row on which it may match, row by row."""
        ways, wanted = self._tables.ways, self._tables.wanted
        for number, row in enumerate(rows):
            found = self._found(row.casefold())
            tried = {way for literal in found & wanted.keys() for way in wanted[literal]}
            held = {index for index, test in (ways[way] for way in tried) if test.holds(found)}
            yield from ((index, number) for index in sorted(held.union(self._tables.always)) if row)

    def _found(self, row: str) -> set[int]:
        """Return which literals a row holds."""
        literals, holders = self._tables.literals, self._tables.holders
        two = list(map(add, row, row[1:]))
        three = list(map(add, two, row[2:]))
        pieces = {*row, *two, *three, *map(add, three, row[3:])}  # of up to `_GRAM` characters
        return {one for piece in holders.keys() & pieces for one in holders[piece] if literals[one] in row}


@lru_cache(maxsize=2)
def _tables(patterns: tuple[str, ...], cache_dir: Path | None) -> _Tables:
    """Tables for the patterns, from the cache directory where they were kept; those of the last report are at hand."""
    path = None
    if cache_dir is not None:
        key = hashlib.sha256("\0".join((_FORMAT, *patterns)).encode()).hexdigest()[:24]
        path = cache_dir / f"needs-{key}.msgpack"
        if (body := read_kept(path)) is not None:
            try:
                return msgspec.msgpack.decode(body, type=_Tables)
            except msgspec.DecodeError:
                pass
    tables = _made([needed(pattern) for pattern in patterns])
    if path is not None:
        keep(path, msgspec.msgpack.encode(tables))
    return tables


def _made(needs: Sequence[Need | None]) -> _Tables:
    numbers: dict[str, int] = {}
    ways = [(i, _test(one, numbers)) for i, need in enumerate(needs) if need is not None for one in _ways(need)]
    literals = list(numbers)
    wanted: dict[int, list[int]] = {}
    for way, (_, test) in enumerate(ways):
        for literal in _least(test, literals):
            wanted.setdefault(literal, []).append(way)
    usual = Counter(piece for text in literals for piece in _pieces(text))
    holders: dict[str, list[int]] = {}
    for text, number in numbers.items():
        holders.setdefault(min(_pieces(text), key=lambda piece: usual[piece]), []).append(number)
    return _Tables(literals, holders, [i for i, need in enumerate(needs) if need is None], ways, wanted)


def _ways(need: Need) -> Iterator[Need]:
    if need.every:
        yield need
        return
    if need.texts:
        yield Need(texts=need.texts)
    for one in need.some:
        yield from _ways(one)


def _test(need: Need, numbers: dict[str, int]) -> _Test:
    literals = (numbers.setdefault(text.casefold(), len(numbers)) for text in need.texts)
    return _Test(
        frozenset(literals),
        tuple(_test(one, numbers) for one in need.some),
        tuple(_test(one, numbers) for one in need.every),
    )


def _least(test: _Test, literals: Sequence[str]) -> frozenset[int]:
    """Return literals of which every match holds one: those that are found least often, as far as lengths tell."""
    if test.every:
        ways = (_least(one, literals) for one in test.every)
        return min(ways, key=lambda way: sum(0.5 ** len(literals[number]) for number in way))
    return test.literals.union(*(_least(one, literals) for one in test.some))


def _pieces(text: str) -> set[str]:
    size = min(_GRAM, len(text))
    return {text[at : at + size] for at in range(len(text) - size + 1)}
