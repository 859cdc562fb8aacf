"""Numbers that the ranks printed again and again, as columns of their lines: how they go, and how ranks compare."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from distkb.evidence.run.processes import Line, Process
    from distkb.evidence.run.sayings import Talk

MARK = "§"
"""Stands for the number of a column in its context; other numbers are `#`."""
_BEFORE, _AFTER = 40, 24
LEAST_ROWS = 4
"""Rows from which the course of a number can be told."""
PRECISE = 4
"""Digits from which equal numbers are no accident."""


class Cell(NamedTuple):
    """One printed number."""

    text: str
    value: float
    line: Line


class Column(NamedTuple):
    """One number of lines that are otherwise alike, for each rank that printed them."""

    context: str
    """The words around it, with `§` for the number itself."""
    ranks: tuple[tuple[Process, tuple[Cell, ...]], ...]
    beside: bool
    """Whether another number of the same lines changes."""
    behind: bool = False
    """Whether it was equal to another number of its lines and fell behind it later."""


def columns(spoken: Iterable[Talk]) -> tuple[Column, ...]:
    """Return all columns of what the ranks said."""
    found: dict[tuple[str, int], list[tuple[Process, list[Cell]]]] = {}
    for talk in spoken:
        own: dict[tuple[str, int], list[Cell]] = {}
        for saying in talk.sayings:
            for index, text in enumerate(saying.numbers):
                value = _number(text)
                if value is not None:
                    own.setdefault((saying.template, index), []).append(Cell(text, value, saying.line))
        for key, cells in own.items():
            found.setdefault(key, []).append((talk.process, cells))
    varied = {
        template
        for (template, _), ranks in found.items()
        if any(len({cell.text for cell in cells}) > 2 for _, cells in ranks)
    }
    late = {
        (template, index)
        for (template, index), ranks in found.items()
        for other in range(index)
        for process, cells in ranks
        for before in (own for p, own in found.get((template, other), ()) if p is process)
        if _fell_behind(before, cells)
    }
    return tuple(
        Column(
            _context(template, index),
            tuple((p, tuple(cells)) for p, cells in ranks),
            template in varied,
            (template, index) in late,
        )
        for (template, index), ranks in found.items()
    )


def _fell_behind(leader: Sequence[Cell], cells: Sequence[Cell]) -> bool:
    """Whether whole numbers that rose together went apart by a few."""
    if len(cells) < LEAST_ROWS - 1 or len(leader) != len(cells) or not cells[-1].text.isdecimal():
        return False
    gaps = [one.value - own.value for one, own in zip(leader, cells, strict=True)]
    return gaps[0] == 0 < gaps[-1] <= max(3.0, 0.05 * leader[-1].value) and cells[0].value < cells[-2].value


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _context(template: str, index: int) -> str:
    at = -1
    for _ in range(index + 1):
        at = template.find("#", at + 1)
    return template[max(0, at - _BEFORE) : at] + MARK + template[at + 1 : at + 1 + _AFTER]


def _rows(column: Column) -> list[tuple[Cell, ...]]:
    """Rows that every rank printed, in order."""
    return list(zip(*(cells for _, cells in column.ranks), strict=False))


def differs(column: Column) -> bool:
    """Whether two ranks printed different values where they printed the same line."""
    return len(column.ranks) > 1 and any(len({cell.text for cell in row}) > 1 for row in _rows(column))


def agrees(column: Column) -> bool:
    """Whether all ranks printed the same values, and precise ones, often enough to be no accident."""
    rows = _rows(column) if len(column.ranks) > 1 else []
    same = all(len({cell.text for cell in row}) == 1 for row in rows)
    precise = {row[0].text for row in rows if len(row[0].text.strip("-0.").replace(".", "")) >= PRECISE}
    return same and len(precise) >= LEAST_ROWS - 1


def drifts(column: Column) -> bool:
    """Whether a precise number began alike on all ranks and then went apart: what had to stay the same did not."""
    rows = _rows(column) if len(column.ranks) > 1 else []
    if len(rows) < LEAST_ROWS - 1 or len({cell.text for cell in rows[0]}) > 1:
        return False
    precise = "." in rows[0][0].text and len(rows[0][0].text.strip("-0.").replace(".", "")) >= PRECISE
    return precise and all(len({cell.text for cell in row}) > 1 for row in rows[-2:])


def constant(column: Column) -> bool:
    """Whether a precise number never changes although others of the same lines do."""
    text = column.ranks[0][1][0].text
    digits = len(text.strip("-0.").replace(".", ""))
    rows = LEAST_ROWS if digits == PRECISE else LEAST_ROWS - 1  # the more digits, the fewer rows are no accident
    return (
        column.beside
        and digits >= PRECISE
        and all(len(own) >= rows and {c.text for c in own} == {text} for _, own in column.ranks)
    )


def ends_at_zero(column: Column) -> bool:
    """Whether a number falls to zero and stays there for the last part of the lines."""
    for _, cells in column.ranks:
        values = [cell.value for cell in cells]
        zeros = next((i for i in range(len(values)) if not any(values[i:])), len(values))
        if len(values) >= LEAST_ROWS + 1 and max(values) > 0 and 1 < zeros <= 0.8 * len(values):
            return True
    return False


def starts_over(column: Column) -> bool:
    """Whether a number that changes goes through its first values once more later."""
    for _, cells in column.ranks:
        values = [cell.value for cell in cells]
        first = values[: LEAST_ROWS - 1]
        if len(set(first)) == LEAST_ROWS - 1 and any(
            values[at : at + len(first)] == first for at in range(LEAST_ROWS, len(values) - len(first) + 1)
        ):
            return True
    return False


def rises_again(column: Column) -> bool:
    """Whether a number falls to next to nothing and then comes back to a good part of its top."""
    for _, cells in column.ranks:
        values = [cell.value for cell in cells]
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
