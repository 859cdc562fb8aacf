"""How long things take, as columns of numbers: what takes most of a step, and whether steps become slower."""

from __future__ import annotations

import re
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from distkb.evidence.run.columns import Cells, Column
    from distkb.evidence.run.lines import Line
    from distkb.evidence.run.processes import Process
    from distkb.evidence.run.sayings import Talk

LEAST = 4
"""Lines from which something can be told."""
SHARE = 0.6
"""Least part of a whole that most of it is."""
TIMES = 2.0
"""Least ratio of the part that takes most to any other."""
SLOWER = 1.6
"""Least ratio of the time that the last lines show to the time that the first ones do."""
MUCH_SLOWER = 3.0
"""The same where there are too few lines for their quarters to be told, and each shows more than the one before."""
_BAR = re.compile(r"\b(\d{1,9})/(\d{1,9}) \[(?:(\d{1,4}):)?(\d{1,2}):(\d\d)<")
"""Count, total and time of a progress bar of tqdm: `19/333 [00:05<01:25, 3.69it/s]`."""
_LONG = 20.0
"""Seconds from which a bar tells how fast it goes."""
_UNIT = re.compile(r"(?i)§ ?(ms|µs|us|s|secs?|seconds)\b")
_NAMED = re.compile(
    r"(?i)\b(?:data|load(?:ing|er)?|fetch|input|batch|fwd|forward|bwd|backward|opt(?:im|imizer)?|comm|sync|(?:all_?)?reduce|step"
    r"|iter(?:ation)?|total|time|dt|wait|host|prep|save|ckpt|eval|metrics?)[ _]?(?:time|s|sec|ms)?[ _=:]{0,3}§"
)


def takes_most(column: Column) -> bool:
    """Whether a time takes most of the time that its lines tell, on more than half of the ranks that print it."""
    unit = _unit(column)
    others = [one for one in column.others if unit is not None and _unit(one) == unit]
    if not others:
        return False
    theirs = [{id(process): cells for process, cells in one.ranks} for one in others]
    held = [
        _leads(cells, [cells_of[id(process)] for cells_of in theirs if id(process) in cells_of])
        for process, cells in column.ranks
        if len(cells) >= LEAST
    ]
    return sum(held) > len(held) / 2


def _leads(cells: Cells, others: Iterable[Cells]) -> bool:
    own, rest = median(cells.values()), [median(one.values()) for one in others if len(one) == len(cells)]
    wholes = [value for value in rest if value >= own]
    parts = [value for value in rest if value < own]
    return own > 0 and bool(rest) and own >= SHARE * max(wholes, default=0.0) and own >= TIMES * max(parts, default=0.0)


def _unit(column: Column) -> str | None:
    """The unit of a number that is a time; empty where it is only called one; None for any other number."""
    found = _UNIT.search(column.context)
    if found is not None:
        return found[1].lower()[:2]
    fraction = any("." in cells[0].text for _, cells in column.ranks)
    return "" if fraction and _NAMED.search(column.context) else None


def slows(cells: Cells) -> bool:
    """Whether a time rises from quarter to quarter of the lines, and in the end is far above what it was."""
    values = cells.values()
    size = len(values) // 4
    if size < LEAST // 2:
        few = len(values) >= LEAST and all(one < other for one, other in pairwise(values))
        return few and values[0] > 0 and values[-1] >= MUCH_SLOWER * values[0]
    quarters = [median(values[size * at : size * (at + 1) if at < 3 else None]) for at in range(4)]
    rising = all(one < other for one, other in pairwise(quarters))
    return rising and quarters[0] > 0 and quarters[3] >= SLOWER * quarters[0]


def slower(spoken: Iterable[Talk]) -> list[tuple[Process, Line]]:
    """Return the first and the last line of a progress bar whose steps take longer and longer."""
    for talk in spoken:
        rows: list[tuple[int, float, Line]] = []
        for at, shape in enumerate(talk.shapes):
            reached = _reached(talk.lines[at].text) if shape.once(_shows_bar) else None
            if reached is not None and rows and reached[0] < rows[-1][0]:
                rows.clear()  # the next bar
            if reached is not None and (not rows or reached[0] > rows[-1][0]):
                rows.append((*reached, talk.lines[at]))
        if len(rows) > LEAST and rows[-1][1] - rows[0][1] >= _LONG:
            quarters = _quarters([(count, seconds) for count, seconds, _ in rows])
            rising = all(one <= other for one, other in pairwise(quarters))
            if rising and quarters[1] < quarters[2] and quarters[3] >= TIMES * quarters[0]:
                return [(talk.process, rows[0][2]), (talk.process, rows[-1][2])]
    return []


def _quarters(reached: Sequence[tuple[int, float]]) -> list[float]:
    """Seconds that each quarter of the steps took; between two rows steps are taken to be alike."""
    (first, _), (last, _) = reached[0], reached[-1]
    times: list[float] = []
    for quarter in range(5):
        count = first + (last - first) * quarter / 4
        (low, before), (high, after) = next(pair for pair in pairwise(reached) if count <= pair[1][0])
        times.append(before + (after - before) * (count - low) / (high - low))
    return [other - one for one, other in pairwise(times)]


def _shows_bar(text: str) -> bool:
    return _BAR.search(text) is not None


def _reached(text: str) -> tuple[int, float] | None:
    """How far the last bar of a line had come, and after how many seconds."""
    found = list(_BAR.finditer(text))[-1:]
    for bar in found:
        hours, minutes, seconds = (int(part or 0) for part in bar.groups()[2:])
        return int(bar[1]), 3600.0 * hours + 60.0 * minutes + seconds
    return None
