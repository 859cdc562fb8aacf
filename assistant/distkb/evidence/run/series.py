"""Numbers that the ranks printed again and again, as columns of their lines: how they go, and how ranks compare."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from distkb.evidence.run.lines import Line
    from distkb.evidence.run.processes import Process
    from distkb.evidence.run.sayings import Talk

MARK = "§"
"""Stands for the number of a column in its context; other numbers are `#`."""
_BEFORE, _AFTER = 40, 24
LEAST_ROWS = 4
"""Rows from which the course of a number can be told."""
COUNTERS = 3
"""Numbers at the start of a line that may count it: an epoch, a step of it, a batch."""
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
        self._places = [place for place in places if talk.is_finite(place, index)]

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

    def values(self) -> list[float]:
        """Return all of them at once."""
        if self._values is None:
            self._values = array("d", map(float, self._talk.numbers(self._places, self._index)))
        return list(self._values)

    def _cell(self, place: int) -> Cell:
        text = self._talk.number(place, self._index)
        return Cell(text, float(text), self._talk, place)


class Column:
    """One number of lines that are otherwise alike, for each rank that printed them."""

    def __init__(self, template: str, index: int, spoken: Sequence[tuple[Talk, Sequence[int]]]) -> None:
        """Take which number of which lines, and for each rank where it printed them."""
        self._template = template
        self._index = index
        self._spoken = spoken

    @cached_property
    def context(self) -> str:
        """The words around it, with `§` for the number itself."""
        return _context(self._template, self._index)

    @cached_property
    def ranks(self) -> tuple[tuple[Process, Cells], ...]:
        """The cells of each rank that has any."""
        rows = ((talk.process, Cells(talk, self._index, places)) for talk, places in self._spoken)
        return tuple((process, cells) for process, cells in rows if cells)

    @cached_property
    def rows(self) -> list[tuple[Cell, ...]]:
        """The cells of all ranks side by side: of lines that count alike, else in the order in which they came."""
        counted = [self._counted(talk, places) for talk, places in self._spoken]
        if len(self.ranks) < 2 or len(self.ranks) < len(self._spoken) or not all(counted):
            return list(zip(*(cells for _, cells in self.ranks), strict=False))
        first, *others = counted
        shared = [count for count in first if all(count in other for other in others)]
        return [
            tuple(cells[own[count]] for (_, cells), own in zip(self.ranks, counted, strict=True)) for count in shared
        ]

    def _counted(self, talk: Talk, places: Sequence[int]) -> dict[tuple[int, ...], int]:
        """Return which line has which count, where whole numbers at the start of the lines count them up."""
        counts: list[tuple[int, ...]] = [()] * len(places)
        for index in range(min(COUNTERS, self._template.count("#"))):
            texts = talk.numbers(places, index) if all(talk.is_finite(place, index) for place in places) else []
            if len(texts) != len(counts) or not all(text.isdecimal() for text in texts):
                break
            counts = [(*count, int(text)) for count, text in zip(counts, texts, strict=True)]
            if len(counts) > 1 and all(one < other for one, other in pairwise(counts)):
                return {count: row for row, count in enumerate(counts)}
        return {}

    @cached_property
    def beside(self) -> bool:
        """Whether another number of the same lines changes."""
        every = (Column(self._template, index, self._spoken) for index in range(self._template.count("#")))
        return any(len({cell.text for cell in cells}) > 2 for column in every for _, cells in column.ranks)

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
    found: dict[str, list[tuple[Talk, list[int]]]] = {}
    for talk in spoken:
        own: dict[str, list[int]] = {}
        for place, template in enumerate(talk.said):
            own.setdefault(template, []).append(place)
        for template, places in own.items():
            if "#" in template:
                found.setdefault(template, []).append((talk, places))
    every = (Column(template, index, rows) for template, rows in found.items() for index in range(template.count("#")))
    return tuple(column for column in every if wanted(column.context) and column.ranks)


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
    """Whether two ranks printed different values where they printed the same line."""
    return len(column.ranks) > 1 and any(len({cell.text for cell in row}) > 1 for row in column.rows)


def agrees(column: Column) -> bool:
    """Whether all ranks printed the same values, and precise ones, often enough to be no accident."""
    if len(column.ranks) < 2 or differs(column):
        return False
    precise = {row[0].text for row in column.rows if _is_precise(row[0].text)}
    return len(precise) >= LEAST_ROWS - 1


def _is_precise(text: str) -> bool:
    return len(text.strip("-0.").replace(".", "")) >= PRECISE


def drifts(column: Column) -> bool:
    """Whether a precise number began alike on all ranks and then went apart: what had to stay the same did not."""
    count = min(len(cells) for _, cells in column.ranks) if len(column.ranks) > 1 else 0
    text = column.ranks[0][1][0].text
    if count < LEAST_ROWS - 1 or "." not in text or not _is_precise(text) or _apart(column, 0):
        return False
    return all(_apart(column, row) for row in (count - 2, count - 1))


def _apart(column: Column, row: int) -> bool:
    """Whether the ranks printed different numbers in a row."""
    return len({cells[row].text for _, cells in column.ranks}) > 1


def constant(column: Column) -> bool:
    """Whether a precise number never changes although others of the same lines do."""
    text = column.ranks[0][1][0].text
    digits = len(text.strip("-0.").replace(".", ""))
    rows = LEAST_ROWS if digits == PRECISE else LEAST_ROWS - 1  # the more digits, the fewer rows are no accident
    return (
        digits >= PRECISE
        and all(len(own) >= rows and {c.text for c in own} == {text} for _, own in column.ranks)
        and column.beside
    )


def ends_at_zero(column: Column) -> bool:
    """Whether a number falls to zero and stays there for the last part of the lines."""
    for _, cells in column.ranks:
        if cells[-1].value:
            continue
        values = [cell.value for cell in cells]
        zeros = next((i for i in range(len(values)) if not any(values[i:])), len(values))
        if len(values) >= LEAST_ROWS + 1 and max(values) > 0 and 1 < zeros <= 0.8 * len(values):
            return True
    return False


def starts_over(column: Column) -> bool:
    """Whether a number that changes goes through its first values once more later."""
    for _, cells in column.ranks:
        first = [cell.value for cell in cells[: LEAST_ROWS - 1]]
        if len(set(first)) < LEAST_ROWS - 1:
            continue
        values = cells.values()
        if any(values[at : at + len(first)] == first for at in range(LEAST_ROWS, len(values) - len(first) + 1)):
            return True
    return False


def rises_again(column: Column) -> bool:
    """Whether a number falls to next to nothing and then comes back to a good part of its top."""
    for _, cells in column.ranks:
        values = cells.values()
        top = max(values)
        at = values.index(top)
        low = min(range(at, len(values)), key=values.__getitem__)
        if len(values) >= 2 * LEAST_ROWS and top > 0 and values[low] < 0.05 * top and max(values[low:]) > 0.5 * top:
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
    "agrees": agrees,
    "drifts": drifts,
    "constant": constant,
    "ends-at-zero": ends_at_zero,
    "stands-out": stands_out,
    "starts-over": starts_over,
    "rises-again": rises_again,
    "falls-behind": falls_behind,
}
"""What can be asked of a column, by the place in which a signature looks."""
