"""Numbers that the ranks printed again and again, as columns of the lines that are alike but for them."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from distkb.evidence.run.lines import Line
    from distkb.evidence.run.processes import Process
    from distkb.evidence.run.sayings import Talk

MARK = "§"
"""Stands for the number of a column in its context; other numbers are `#`."""
_BEFORE, _AFTER = 40, 24
_ONCE = "once: "
_RANGE = re.compile(r"§(?: ?\.\.|\.#| to | ?[-:\u2013] ?#)|(?:\.\. ?|#\.| to |#[-:\u2013] ?)§")
_UNIT = re.compile(
    r"(?i) ?(?:%|m?s\b|secs?\b|seconds|min|hours|[KMG]i?B\b|bytes|threads|cores|[cg]pus|devices|workers|processes|ranks"
    r"|steps|epochs|hits|errors|param)"
)
"""What follows a number that is no count of data."""
MOST_CELLS = 100_000
"""Numbers of all ranks that are laid side by side."""
LEAST_ROWS = 4
"""Rows from which the course of a number can be told."""
COUNTERS = 3
"""Numbers at the start of a line that may count it: an epoch, a step of it, a batch."""
DIGITS = 6
"""Most digits of such a number."""


class Cell(NamedTuple):
    """One printed number."""

    text: str
    value: float
    talk: Talk
    place: int
    """Which line of it."""

    @property
    def line(self) -> Line:
        """The line in which it stands."""
        return self.talk.lines[self.place]


class Cells(Sequence[Cell]):
    """The numbers of one rank, each of which is made when it is looked at."""

    def __init__(self, talk: Talk, index: int, places: Sequence[int]) -> None:
        """Take which number of which lines."""
        self._talk = talk
        self._index = index
        self._values: array[float] | None = None
        self._places = talk.finite(places, index)

    def __len__(self) -> int:
        """Count them."""
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Cell: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Cell, ...]: ...
    def __getitem__(self, index: int | slice) -> Cell | tuple[Cell, ...]:
        """Make one, or several."""
        if isinstance(index, slice):
            return tuple(map(self._cell, self._places[index]))
        return self._cell(self._places[index])

    def last_run(self) -> Cells:
        """Return those that were printed since the counters of their lines, and the number itself, began anew."""
        counts = []
        for index in range(min(COUNTERS, self._index)):
            texts = self._talk.numbers(self._places, index)
            if all(map(str.isdecimal, texts)):
                if texts.count(texts[0]) == 1:  # nothing began anew
                    return self
                counts.append(texts)
        if not counts:
            return self
        lines = list(zip(*counts, self.values(), strict=True))
        again = len(lines) - lines[::-1].index(lines[0]) - 1
        return Cells(self._talk, self._index, self._places[again:])

    def values(self) -> list[float]:
        """Return all of them at once."""
        if self._values is None:
            self._values = array("d", map(float, self._talk.numbers(self._places, self._index)))
        return list(self._values)

    def _cell(self, place: int) -> Cell:
        text = self._talk.number(place, self._index)
        return Cell(text, float(text), self._talk, place)


Rank = tuple["Process", Cells]
"""One rank's numbers."""


class Table:
    """Lines that are alike but for their numbers, of each rank that printed them."""

    def __init__(self, template: str, spoken: Sequence[tuple[Talk, Sequence[int]]]) -> None:
        """Take the line without its numbers, and which lines of each rank it is."""
        self.template = template
        self.spoken = spoken

    @cached_property
    def rows(self) -> list[tuple[int, ...]]:
        """Which lines of the ranks stand side by side: those that count alike, else in the order in which they came.

        Of very many an even choice is taken, with the first and the last ones.
        """
        counted = [self._counts(talk, places) for talk, places in self.spoken] if len(self.spoken) > 1 else [()]
        if not all(counted):
            fewest = min((len(places) for _, places in self.spoken), default=0)
            return [tuple(places[row] for _, places in self.spoken) for row in self._even(range(fewest))]
        sides = [(places, counts) for (_, places), counts in zip(self.spoken, counted, strict=True)]
        shared = self._even(sorted(set(counted[0]).intersection(*counted[1:])))
        return [tuple(places[bisect_left(counts, count)] for places, counts in sides) for count in shared]

    def _even(self, rows: Sequence[int]) -> Sequence[int]:
        """Take as many of the rows as there may be cells."""
        step = len(rows) * len(self.spoken) // MOST_CELLS + 1
        return rows if step == 1 else [*rows[:-LEAST_ROWS:step], *rows[-LEAST_ROWS:]]

    def _counts(self, talk: Talk, places: Sequence[int]) -> Sequence[int]:
        """Return how each line is counted by whole numbers at its start; nothing where none count the lines up."""
        counts = array("q", [0] * len(places))
        for index in range(min(COUNTERS, self.template.count("#"))):
            texts = talk.numbers(places, index) if talk.all_have(places, index) else []
            if not texts or not all(text.isdecimal() and len(text) <= DIGITS for text in texts):
                break
            counts = array("q", (count * 10**DIGITS + int(text) for count, text in zip(counts, texts, strict=True)))
            if len(counts) > 1 and all(one < other for one, other in pairwise(counts)):
                return counts
        return ()


class Column:
    """One number of lines that are otherwise alike, for each rank that printed them."""

    def __init__(self, table: Table, index: int) -> None:
        """Take which number of which lines."""
        self._table = table
        self.spoken = table.spoken
        self.index = index

    @cached_property
    def context(self) -> str:
        """The words around it, with `§` for the number itself, and `once: ` before them where it is a count."""
        return _ONCE * self.counted + self._words

    @cached_property
    def _words(self) -> str:
        return _context(self._table.template, self.index)

    @cached_property
    def bounds(self) -> bool:
        """Whether it is one end of a range, of which every rank has its own."""
        return _RANGE.search(self._words) is not None

    @cached_property
    def counted(self) -> bool:
        """Whether each rank said it a single time and it may be a count, as what is said of the set-up is."""
        once = all(len(places) == 1 for _, places in self.spoken)
        return once and _UNIT.match(self._words.partition(MARK)[2]) is None

    @property
    def others(self) -> Iterator[Column]:
        """The other numbers of its lines."""
        return (Column(self._table, index) for index in range(self._table.template.count("#")) if index != self.index)

    @cached_property
    def ranks(self) -> tuple[tuple[Process, Cells], ...]:
        """The cells of each rank that has any."""
        rows = ((talk.process, Cells(talk, self.index, places)) for talk, places in self.spoken)
        return tuple((process, cells) for process, cells in rows if cells)

    def rows(self, *, last_first: bool = False) -> Iterator[list[str]]:
        """The number as each rank printed it, row by row of the table; rows in which one rank has none are left out."""
        rows = self._table.rows
        start, size = 0, 1
        while start < len(rows):  # often the first ones tell all
            stop = min(len(rows), start + size)
            if last_first:
                yield from reversed(self._texts(rows[len(rows) - stop : len(rows) - start]))
            else:
                yield from self._texts(rows[start:stop])
            start, size = stop, 4 * size

    def _texts(self, rows: Sequence[Sequence[int]]) -> list[list[str]]:
        talks = [talk for talk, _ in self.spoken]
        sides = list(zip(talks, zip(*rows, strict=True), strict=True))
        if all(len(talk.finite(places, self.index)) == len(places) for talk, places in sides):
            return list(map(list, zip(*(talk.numbers(places, self.index) for talk, places in sides), strict=True)))
        whole = (row for row in rows if all(map(lambda talk, at: talk.is_finite(at, self.index), talks, row)))
        return [[talk.number(at, self.index) for talk, at in zip(talks, row, strict=True)] for row in whole]


def columns(spoken: Iterable[Talk], wanted: Callable[[str], object] = bool) -> tuple[Column, ...]:
    """Return the columns of what the ranks said whose context is wanted."""
    found: dict[str, list[tuple[Talk, Sequence[int]]]] = {}
    for talk in spoken:
        own: dict[str, array[int]] = {}
        for place, template in enumerate(talk.said):
            own.setdefault(template, array("I")).append(place)
        for template, places in own.items():
            if "#" in template:
                found.setdefault(template, []).append((talk, places))
    tables = (Table(template, rows) for template, rows in found.items())
    every = (Column(table, index) for table in tables for index in range(table.template.count("#")))
    return tuple(column for column in every if wanted(column.context) and column.ranks)


def _context(template: str, index: int) -> str:
    at = -1
    for _ in range(index + 1):
        at = template.find("#", at + 1)
    return template[max(0, at - _BEFORE) : at] + MARK + template[at + 1 : at + 1 + _AFTER]
