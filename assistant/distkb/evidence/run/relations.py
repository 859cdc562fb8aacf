"""What can be asked of a column of printed numbers: how they go, and how the ranks compare."""

from __future__ import annotations

import re
from itertools import accumulate, islice, pairwise
from statistics import median_high
from typing import TYPE_CHECKING

from distkb.evidence.run.columns import LEAST_ROWS, Cells
from distkb.evidence.run.paces import slows, takes_most

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from distkb.evidence.run.columns import Cell, Column, Rank

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


def differs(column: Column) -> bool:
    """Whether two ranks printed different values where they printed the same line; the ends of a range always do."""
    return len(column.ranks) > 1 and not column.bounds and any(map(_apart, column.rows()))


def far_apart(column: Column) -> bool:
    """Whether ranks printed whole numbers of which one is much smaller than another, and else the same line."""
    rows = list(column.rows()) if differs(column) and column.counted else []
    if not all(text.isdecimal() for row in rows for text in row) or any(map(differs, column.others)):
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
    first: dict[str, int] = {}
    return tuple(first.setdefault(text, rank) for rank, text in enumerate(row))


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
    return _never_changes(column) and not _overtaken(column)


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
    return _never_changes(column) and _overtaken(column)


def _never_changes(column: Column) -> bool:
    text = column.ranks[0][1][0].text
    digits = text.lstrip("-0.").replace(".", "")
    return (
        len(digits) >= PRECISE
        and len(digits.rstrip("0")) >= PRECISE - 1
        and all(len(own) >= LEAST_ROWS - 1 and {c.text for c in own} == {text} for _, own in column.ranks)
        and (_another_changes(column) or _lines_between(column))
    )


def _another_changes(column: Column) -> bool:
    """Whether another number of the same lines changes."""
    every = (column, *column.others)
    return any(len({cell.text for cell in cells}) > 2 for one in every for _, cells in one.ranks)


def _lines_between(column: Column) -> bool:
    """Whether each rank said other lines between any two of these."""
    return all(other - one > 1 for _, places in column.spoken for one, other in pairwise(places))


def _overtaken(column: Column) -> bool:
    """Whether another number of the same lines that has the same name left the value with which it began."""
    name = _NAME.search(column.context)
    same = [one for one in column.others if name and (found := _NAME.search(one.context)) and found[1] == name[1]]
    return any(_left(cells.values()) for other in same for _, cells in other.ranks)


def _left(values: Sequence[float]) -> bool:
    """Whether a number went away from where it began, stayed away, and is far from there in the end."""
    first, rest, last = values[0], values[1:], values[-1]
    if len(rest) < LEAST_ROWS - 2 or first <= 0:
        return False
    fell, rose = max(rest) < FAR * first and last < MOVED * first, min(rest) > first / FAR and last > first / MOVED
    return fell or rose


def _of_one_run(relation: Callable[[Cells], bool]) -> Callable[[Column], bool]:
    """Ask of a rank's lines of one run: a file may hold those of runs that came one after another."""

    def holds(column: Column) -> bool:
        ranks = [cells for _, cells in _some(column.ranks)]
        return any(map(relation, ranks)) and any(relation(cells.last_run()) for cells in ranks)

    return holds


def _some(ranks: Sequence[Rank]) -> Sequence[Rank]:
    """Return all ranks, or as many of them, evenly spread, as tell what a schedule does that all of them follow."""
    return ranks[:: max(1, len(ranks) // MOST_COMPARED)]


def ends_at_zero(cells: Cells) -> bool:
    """Whether a number falls to zero and stays there for the last part of the lines."""
    if cells[-1].value:
        return False
    values = cells.values()
    zeros = next((i for i in range(len(values)) if not any(values[i:])), len(values))
    return len(values) >= LEAST_ROWS + 1 and max(values) > 0 and 1 < zeros <= 0.8 * len(values)


def grows(cells: Cells) -> bool:
    """Whether a number rises in nearly every line and to half as much again at least."""
    values = cells.values()
    rises = sum(one < other for one, other in pairwise(values))
    return len(values) >= 2 * LEAST_ROWS and rises >= 0.9 * (len(values) - 1) and values[-1] > 1.5 * values[0] > 0


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


def settles_early(cells: Cells) -> bool:
    """Whether a number falls more than once in the first part of the lines and then never changes again."""
    values = cells.values()
    changes = [index for index, (one, other) in enumerate(pairwise(values), 1) if one != other]
    fell = len(changes) > 1 and all(values[index] < values[index - 1] for index in changes)
    return len(values) >= 2 * LEAST_ROWS and fell and values[-1] > 0 and changes[-1] <= 0.5 * len(values)


def starts_over(cells: Cells) -> bool:
    """Whether a number that changes goes through its first values once more later."""
    first = [cell.value for cell in cells[: LEAST_ROWS - 1]]
    if len(set(first)) < LEAST_ROWS - 1:
        return False
    values = cells.values()
    return any(values[at : at + len(first)] == first for at in range(LEAST_ROWS, len(values) - len(first) + 1))


def rises_again(cells: Cells) -> bool:
    """Whether a number falls to next to nothing and then comes back to a good part of its top."""
    values = cells.values()
    if len(values) < 2 * LEAST_ROWS or max(values) <= 0:
        return False
    before = list(accumulate(values, max))
    after = list(accumulate(reversed(values), max))[::-1]
    return any(own < 0.05 * high and rest > 0.5 * high for own, high, rest in zip(values, before, after, strict=True))


def falls_behind(column: Column) -> bool:
    """Whether it was equal to another number of its lines and fell behind it later."""
    for talk, places in column.spoken:
        last = talk.number(places[-1], column.index)
        for other in range(column.index) if last.isdecimal() else ():
            if _is_a_few(talk.number(places[-1], other), last) and _fell_behind(
                Cells(talk, other, places), Cells(talk, column.index, places)
            ):
                return True
    return False


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


def stands_out(column: Column) -> bool:
    """Whether one rank's number is usually several times that of every other rank."""
    if len(column.ranks) < 2 or any(len(cells) < LEAST_ROWS - 1 for _, cells in column.ranks):
        return False
    medians = sorted(median_high(cells.values()) for _, cells in column.ranks)
    return medians[-2] >= 0 and medians[-1] >= 3 * max(medians[-2], 1e-9) and medians[-1] > 0


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
