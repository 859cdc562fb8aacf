"""Tells on which rows of a text each of many patterns may match, from all the literals that its matches need.

One pass over each row finds the literals in it, however many patterns there are; a pattern is then tried, and compiled,
only where every part of it that is not left out has one of its literals.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from functools import cached_property, lru_cache
from operator import add
from typing import TYPE_CHECKING

import msgspec

from distkb.catalogue.kept import keep, read_kept
from distkb.catalogue.places import cache_directory
from distkb.evidence.scanner.literals import Need, needed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
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

    def __init__(self, patterns: Sequence[str], *, cache_dir: Path | None = None, alike: bool = False) -> None:
        """Take patterns whose letters match regardless of case by their `(?i)` or not at all.

        `alike`: rows come with all their digits as `digits_alike` writes them, so that one answer serves many rows.
        """
        self._tables = _tables(tuple(patterns), cache_dir, alike)

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


class Sought:
    """Patterns of which few occur in what is read: each is compiled where a text holds what its matches need."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """Take the patterns."""
        self._patterns = patterns
        self._compiled: dict[str, re.Pattern[str]] = {}
        self._held: dict[str, frozenset[str]] = {}

    @cached_property
    def _needs(self) -> Needs:
        return Needs(self._patterns, cache_dir=cache_directory())

    def may(self, text: str) -> frozenset[str]:
        """Return the patterns that may match in a text."""
        if text not in self._held:
            self._held[text] = frozenset(self._patterns[index] for index, _ in self._needs.candidates([text]))
        return self._held[text]

    def finds(self, pattern: str, text: str) -> bool:
        """Whether one of the patterns matches in a text."""
        if pattern not in self.may(text):
            return False
        if pattern not in self._compiled:
            self._compiled[pattern] = re.compile(pattern)
        return self._compiled[pattern].search(text) is not None


def digits_alike(text: str) -> str:
    """Return the text with every digit as 0."""
    return text.translate(_ALIKE)


_ALIKE = str.maketrans("123456789", "000000000")


@lru_cache(maxsize=8)
def _tables(patterns: tuple[str, ...], cache_dir: Path | None, alike: bool) -> _Tables:
    """Tables for the patterns, from the cache directory where they were kept; those of the last report are at hand."""
    path = None
    if cache_dir is not None:
        key = hashlib.sha256("\0".join((_FORMAT, str(alike), *patterns)).encode()).hexdigest()[:24]
        path = cache_dir / f"needs-{key}.msgpack"
        if (body := read_kept(path)) is not None:
            try:
                return msgspec.msgpack.decode(body, type=_Tables)
            except msgspec.DecodeError:
                pass
    tables = _made([needed(pattern) for pattern in patterns], digits_alike if alike else str)
    if path is not None:
        keep(path, msgspec.msgpack.encode(tables))
    return tables


def _made(needs: Sequence[Need | None], written: Callable[[str], str]) -> _Tables:
    """Work the tables out; `written` says how a literal stands in the rows."""
    numbers: dict[str, int] = {}
    ways = [
        (i, _test(one, numbers, written)) for i, need in enumerate(needs) if need is not None for one in _ways(need)
    ]
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


def _test(need: Need, numbers: dict[str, int], written: Callable[[str], str]) -> _Test:
    literals = (numbers.setdefault(written(text.casefold()), len(numbers)) for text in need.texts)
    return _Test(
        frozenset(literals),
        tuple(_test(one, numbers, written) for one in need.some),
        tuple(_test(one, numbers, written) for one in need.every),
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
