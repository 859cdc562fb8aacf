"""Which lines of a digest are shown: each section has its share, and what one does not need goes to the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from distkb.report.digest.model import DigestLine, Name, Section

SHARES: Mapping[Name, float] = {
    "run": 0.08,
    "causes": 0.22,
    "roll-call": 0.10,
    "failures": 0.16,
    "places": 0.08,
    "code": 0.10,
    "alone": 0.07,
    "numbers": 0.05,
    "endings": 0.03,
    "findings": 0.08,
    "lines": 0.10,
    "course": 0.06,
    "next": 0.06,
    "scripts": 0.0,
}
"""Shares of the budget."""
LEFT_OVER: Sequence[Name] = (
    "run", "failures", "causes", "places", "code", "alone", "roll-call", "numbers", "endings", "lines", "course",
    "next", "scripts", "findings",
)  # fmt: skip
"""The sections in the order in which they get what is left over."""
_HEADING = 24
"""Tokens of a heading, and of the line that says what was left out."""


def fit(sections: Sequence[Section], budget: int, cost: Callable[[DigestLine], int]) -> tuple[Section, ...]:
    """Return the sections with as many of their lines, the most telling first, as the budget has room for."""
    filled = [section for section in sections if section.items]
    room = budget - _HEADING * len(filled)
    total = sum(SHARES.get(section.name, 1.0) for section in filled) or 1.0
    taken = [0] * len(filled)
    last = sorted(range(len(filled)), key=lambda place: _turn(filled[place].name))
    for share in (True, False):
        for place in range(len(filled)) if share else last:
            section = filled[place]
            part = room
            if share:
                part = min(room, int(budget * SHARES.get(section.name, 1.0) / max(1.0, total)))
            for item in section.items[taken[place] :]:
                price = cost(item)
                if price > part:
                    break
                part, room = part - price, room - price
                taken[place] += 1
    chosen = (_first(section, number) for section, number in zip(filled, taken, strict=True))
    return tuple(section for section in chosen if section.items or section.left_out)


def _first(section: Section, number: int) -> Section:
    """Return the section with its first lines, in the order in which they are shown."""
    kept = sorted(section.items[:number], key=lambda item: item.order)
    return Section(name=section.name, items=tuple(kept), left_out=len(section.items) - number)


def _turn(name: Name) -> int:
    return LEFT_OVER.index(name) if name in LEFT_OVER else -1
