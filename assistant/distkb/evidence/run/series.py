"""Numbers that the ranks printed again and again, as columns of their lines: how they go, and how ranks compare."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, islice, pairwise
from typing import TYPE_CHECKING, NamedTuple, overload

from distkb.evidence.run.paces import slows, takes_most

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

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
MOST_COMPARED = 256
"""Ranks that are looked at where they all should do the same."""
FAR = 0.9
"""A number that is less than this share of another is far from it."""
MOVED = 0.8
"""A number that ends below this share of what it was first has moved: from batch to batch it differs by less."""
_NAME = re.compile(r"(?i)(?:^|[^a-z0-9])([a-z][a-z0-9]{0,31})[ =:]{1,8}§")
"""The last word of a number's name: `mse` of `val_mse` and of `ema mse`."""
PRECISE = 4
"""Digits from which equal numbers are no accident."""


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
        rows = self._rows()
        step = len(rows) * len(self.spoken) // MOST_CELLS + 1
        return rows if step == 1 else [*rows[:-LEAST_ROWS:step], *rows[-LEAST_ROWS:]]

    def _rows(self) -> list[tuple[int, ...]]:
        counted = [self._counts(talk, places) for talk, places in self.spoken] if len(self.spoken) > 1 else [()]
        if not all(counted):
            return list(zip(*(places for _, places in self.spoken), strict=False))
        shared = set(counted[0]).intersection(*counted[1:])
        chosen = (
            [place for place, count in zip(places, counts, strict=True) if count in shared]
            for (_, places), counts in zip(self.spoken, counted, strict=True)
        )
        return list(zip(*chosen, strict=True))

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
        self._template = table.template
        self._spoken = table.spoken
        self._index = index

    @cached_property
    def context(self) -> str:
        """The words around it, with `§` for the number itself, and `once: ` before them where it is a count."""
        return _ONCE * self.counted + self._words

    @cached_property
    def _words(self) -> str:
        return _context(self._template, self._index)

    @cached_property
    def bounds(self) -> bool:
        """Whether it is one end of a range, of which every rank has its own."""
        return _RANGE.search(self._words) is not None

    @cached_property
    def counted(self) -> bool:
        """Whether each rank said it a single time and it may be a count, as what is said of the set-up is."""
        once = all(len(places) == 1 for _, places in self._spoken)
        return once and _UNIT.match(self._words.partition(MARK)[2]) is None

    @property
    def others(self) -> Iterator[Column]:
        """The other numbers of its lines."""
        return (Column(self._table, index) for index in range(self._template.count("#")) if index != self._index)

    @cached_property
    def alone(self) -> bool:
        """Whether no other number of its lines differs between the ranks."""
        return not any(map(differs, self.others))

    @cached_property
    def ranks(self) -> tuple[tuple[Process, Cells], ...]:
        """The cells of each rank that has any."""
        rows = ((talk.process, Cells(talk, self._index, places)) for talk, places in self._spoken)
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
        talks = [talk for talk, _ in self._spoken]
        sides = list(zip(talks, zip(*rows, strict=True), strict=True))
        if all(len(talk.finite(places, self._index)) == len(places) for talk, places in sides):
            return list(map(list, zip(*(talk.numbers(places, self._index) for talk, places in sides), strict=True)))
        whole = (row for row in rows if all(map(lambda talk, at: talk.is_finite(at, self._index), talks, row)))
        return [[talk.number(at, self._index) for talk, at in zip(talks, row, strict=True)] for row in whole]

    @cached_property
    def beside(self) -> bool:
        """Whether another number of the same lines changes."""
        every = (Column(self._table, index) for index in range(self._template.count("#")))
        return any(len({cell.text for cell in cells}) > 2 for column in every for _, cells in column.ranks)

    @property
    def apart(self) -> bool:
        """Whether each rank said other lines between any two of these."""
        return all(other - one > 1 for _, places in self._spoken for one, other in pairwise(places))

    @cached_property
    def overtaken(self) -> bool:
        """Whether another number of the same lines that has the same name left the value with which it began."""
        name = _NAME.search(self.context)
        same = [one for one in self.others if name and (found := _NAME.search(one.context)) and found[1] == name[1]]
        return any(_left(cells.values()) for column in same for _, cells in column.ranks)

    @cached_property
    def behind(self) -> bool:
        """Whether it was equal to another number of its lines and fell behind it later."""
        for talk, places in self._spoken:
            last = talk.number(places[-1], self._index)
            for other in range(self._index) if last.isdecimal() else ():
                if _is_a_few(talk.number(places[-1], other), last) and _fell_behind(
                    Cells(talk, other, places), Cells(talk, self._index, places)
                ):
                    return True
        return False


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


def _left(values: Sequence[float]) -> bool:
    """Whether a number went away from where it began, stayed away, and is far from there in the end."""
    first, rest, last = values[0], values[1:], values[-1]
    if len(rest) < LEAST_ROWS - 2 or first <= 0:
        return False
    fell, rose = max(rest) < FAR * first and last < MOVED * first, min(rest) > first / FAR and last > first / MOVED
    return fell or rose


def _fell_behind(leader: Sequence[Cell], cells: Sequence[Cell]) -> bool:
    """Whether whole numbers that rose together went apart by a few."""
    if len(cells) < LEAST_ROWS - 1 or len(leader) != len(cells) or not cells[-1].text.isdecimal():
        return False
    few = _is_a_few(leader[-1].text, cells[-1].text)
    return few and leader[0].value == cells[0].value < cells[-2].value


def _is_a_few(leader: str, own: str) -> bool:
    """Whether a number is a little greater than another."""
    try:
        return 0 < float(leader) - float(own) <= max(3.0, 0.05 * float(leader))
    except ValueError:
        return False


def _context(template: str, index: int) -> str:
    at = -1
    for _ in range(index + 1):
        at = template.find("#", at + 1)
    return template[max(0, at - _BEFORE) : at] + MARK + template[at + 1 : at + 1 + _AFTER]


def differs(column: Column) -> bool:
    """Whether two ranks printed different values where they printed the same line; the ends of a range always do."""
    return len(column.ranks) > 1 and not column.bounds and any(map(_apart, column.rows()))


def far_apart(column: Column) -> bool:
    """Whether ranks printed whole numbers of which one is much smaller than another, and else the same line."""
    rows = list(column.rows()) if differs(column) and column.counted else []
    if not all(text.isdecimal() for row in rows for text in row) or not column.alone:
        return False
    return any(min(map(int, row)) < FAR * max(map(int, row)) for row in rows)


def agrees(column: Column) -> bool:
    """Whether all ranks printed the same values, and precise ones, often enough to be no accident."""
    if len(column.ranks) < 2 or differs(column):
        return False
    precise = {row[0] for row in column.rows() if _is_precise(row[0])}
    return len(precise) >= LEAST_ROWS - 1


def agrees_in_groups(column: Column) -> bool:
    """Whether numbers are the same within groups of ranks of one size, always the same groups, and differ else.

    Two rows of precise numbers tell it; of others, which are the same by chance now and then, it takes more.
    """
    if len(column.ranks) < 4 or not differs(column):
        return False
    precise = [_grouping(row) for row in column.rows() if all(map(_is_precise, row))]
    rows = precise or [grouping for row in column.rows() if _fills(row) and any(grouping := _grouping(row))]
    sizes = set(map(rows[0].count, set(rows[0]))) if rows else set()
    enough = len(rows) >= (2 if precise else LEAST_ROWS)
    return enough and len(sizes) == 1 and min(sizes) > 1 and len(set(rows)) == 1


def _fills(row: Sequence[str]) -> bool:
    """Whether all numbers of a row have as many digits as are one less than precise, zeros at the end among them."""
    return all(len(text.replace(".", "").lstrip("-0")) >= PRECISE - 1 for text in row)


def _grouping(row: Sequence[str]) -> tuple[int, ...]:
    """For each rank the first one that printed the same."""
    return tuple(map(row.index, row))


def _is_precise(text: str) -> bool:
    return len(text.strip("-0.").replace(".", "")) >= PRECISE


def drifts(column: Column) -> bool:
    """Whether a precise number began alike on all ranks and then went apart: what had to stay the same did not."""
    text = column.ranks[0][1][0].text
    if len(column.ranks) < 2 or "." not in text or not _is_precise(text):
        return False
    first = next(column.rows(), None)
    # The last rows decide, and are all that has to be looked at in most columns.
    if first is None or _apart(first) or not all(map(_apart, islice(column.rows(last_first=True), 2))):
        return False
    apart = list(map(_apart, column.rows()))
    return len(apart) >= LEAST_ROWS - 1 and all(apart[-2:])


def _apart(row: Sequence[str]) -> bool:
    """Whether the ranks printed different numbers."""
    return len(set(row)) > 1


def constant(column: Column) -> bool:
    """Whether a precise number never changes although others of the same lines do, or other lines came in between."""
    return _never_changes(column) and not column.overtaken


def changes(column: Column) -> bool:
    """Whether a rank printed a whole number as one value, and from some line on as another."""
    for _, cells in column.ranks:
        values = cells.values()
        turns = sum(one != other for one, other in pairwise(values))
        if 0 < turns == len(set(values)) - 1 and all(map(float.is_integer, values)):
            return True
    return False


def left_behind(column: Column) -> bool:
    """Whether a precise number never changes although another of the same name in its lines has moved for good."""
    return _never_changes(column) and column.overtaken


def _never_changes(column: Column) -> bool:
    text = column.ranks[0][1][0].text
    digits = text.lstrip("-0.").replace(".", "")
    return (
        len(digits) >= PRECISE
        and len(digits.rstrip("0")) >= PRECISE - 1
        and all(len(own) >= LEAST_ROWS - 1 and {c.text for c in own} == {text} for _, own in column.ranks)
        and (column.beside or column.apart)
    )


def _of_one_run(relation: Callable[[Iterable[Cells]], bool]) -> Callable[[Column], bool]:
    """Ask of the lines of one run: a file may hold those of runs that came one after another."""

    def holds(column: Column) -> bool:
        cells = [cells for _, cells in _some(column.ranks)]
        return relation(cells) and relation([one.last_run() for one in cells])

    return holds


def _some(ranks: Sequence[Rank]) -> Sequence[Rank]:
    """Return all ranks, or as many of them, evenly spread, as tell what a schedule does that all of them follow."""
    return ranks[:: max(1, len(ranks) // MOST_COMPARED)]


def ends_at_zero(ranks: Iterable[Cells]) -> bool:
    """Whether a number falls to zero and stays there for the last part of the lines."""
    for cells in ranks:
        if cells[-1].value:
            continue
        values = [cell.value for cell in cells]
        zeros = next((i for i in range(len(values)) if not any(values[i:])), len(values))
        if len(values) >= LEAST_ROWS + 1 and max(values) > 0 and 1 < zeros <= 0.8 * len(values):
            return True
    return False


def grows(ranks: Iterable[Cells]) -> bool:
    """Whether a number rises in nearly every line and to half as much again at least."""
    for cells in ranks:
        values = cells.values()
        rises = sum(one < other for one, other in pairwise(values))
        if len(values) >= 2 * LEAST_ROWS and rises >= 0.9 * (len(values) - 1) and values[-1] > 1.5 * values[0] > 0:
            return True
    return False


def ends_alone_at_zero(column: Column) -> bool:
    """Whether a number in the last words of a few ranks is 0, and in those of most ranks another whole number.

    One that each rank prints in all its lines is the number of a node or of a group.
    """
    last = [cells[-1] for _, cells in column.ranks]
    if all(len(cells) > 1 and len({cell.text for cell in cells}) == 1 for _, cells in column.ranks):
        return False
    zeros = sum(cell.text == "0" for cell in last)
    if len(last) < 2 or not 0 < zeros <= len(last) / 2 or not all(cell.text.isdecimal() for cell in last):
        return False
    return all(cell.place == len(cell.talk.said) - 1 for cell in last)


def settles_early(ranks: Iterable[Cells]) -> bool:
    """Whether a number falls more than once in the first part of the lines and then never changes again."""
    for cells in ranks:
        values = cells.values()
        changes = [index for index, (one, other) in enumerate(pairwise(values), 1) if one != other]
        fell = len(changes) > 1 and all(values[index] < values[index - 1] for index in changes)
        if len(values) >= 2 * LEAST_ROWS and fell and values[-1] > 0 and changes[-1] <= 0.5 * len(values):
            return True
    return False


def starts_over(ranks: Iterable[Cells]) -> bool:
    """Whether a number that changes goes through its first values once more later."""
    for cells in ranks:
        first = [cell.value for cell in cells[: LEAST_ROWS - 1]]
        if len(set(first)) < LEAST_ROWS - 1:
            continue
        values = cells.values()
        if any(values[at : at + len(first)] == first for at in range(LEAST_ROWS, len(values) - len(first) + 1)):
            return True
    return False


def rises_again(ranks: Iterable[Cells]) -> bool:
    """Whether a number falls to next to nothing and then comes back to a good part of its top."""
    for cells in ranks:
        values = cells.values()
        if len(values) < 2 * LEAST_ROWS or max(values) <= 0:
            continue
        before = list(accumulate(values, max))
        after = list(accumulate(reversed(values), max))[::-1]
        if any(own < 0.05 * high and rest > 0.5 * high for own, high, rest in zip(values, before, after, strict=True)):
            return True
    return False


def falls_behind(column: Column) -> bool:
    """Whether it fell behind a number of the same lines that it had kept up with."""
    return column.behind


def stands_out(column: Column) -> bool:
    """Whether one rank's number is usually several times that of every other rank."""
    if len(column.ranks) < 2 or any(len(cells) < LEAST_ROWS - 1 for _, cells in column.ranks):
        return False
    medians = sorted(_median([cell.value for cell in cells]) for _, cells in column.ranks)
    return medians[-2] >= 0 and medians[-1] >= 3 * max(medians[-2], 1e-9) and medians[-1] > 0


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


RELATIONS: Mapping[str, Callable[[Column], bool]] = {
    "differs": differs,
    "far-apart": far_apart,
    "agrees": agrees,
    "agrees-in-groups": agrees_in_groups,
    "drifts": drifts,
    "changes": changes,
    "constant": constant,
    "left-behind": left_behind,
    "ends-at-zero": _of_one_run(ends_at_zero),
    "settles-early": _of_one_run(settles_early),
    "grows": _of_one_run(grows),
    "ends-alone-at-zero": ends_alone_at_zero,
    "stands-out": stands_out,
    "starts-over": _of_one_run(starts_over),
    "rises-again": _of_one_run(rises_again),
    "falls-behind": falls_behind,
    "takes-most": takes_most,
    "slows": _of_one_run(slows),
}
"""What can be asked of a column, by the place in which a signature looks."""
IN_TROUBLE = frozenset({"ends-alone-at-zero"})
"""Relations that mean nothing where the run shows no sign of trouble."""
THROUGH_RUNS = frozenset({"changes"})
"""Relations that are asked of the runs before it in the same file too."""
