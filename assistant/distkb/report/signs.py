"""The telling signs of a cause, strongest first, and the table that begins an entry: what to see, to check, to do."""

from __future__ import annotations

import math

import msgspec

from distkb.catalogue.model import PROBABILITY, Cause, Entry, Evidence
from distkb.locale import Say
from distkb.report.layout import pad, width, wrap
from distkb.report.meaning import Meanings

SHOWN = 5
"""Signs that are shown; the rest is folded."""
NARROW = 64
"""Columns below which three cells have no room beside one another."""
TELLS = 1.5
"""Least factor by which an observation is likelier, or less likely, under the cause to be worth a line."""
_CHECKS = {
    "stacks": "distkb probe stacks",
    "env": "distkb probe env",
    "allreduce": "distkb probe allreduce",
    "config": "distkb probe fsdp CONFIG",
    "fsdp": "distkb probe fsdp CONFIG",
    "script": "distkb probe script train.py",
    "flight-recorder": "distkb probe flight-recorder DUMPS",
    "loader": "distkb probe loader --loader MODULE:CALLABLE",
    "network": "distkb probe network",
    "trace": "distkb probe trace DIR",
}
"""What shows an observation, by the first part of its id; all others are read from the run's output."""
_OUTPUT = "distkb diagnose logs/"
_HEADS = ("entry.table.see", "entry.table.check", "entry.table.fix")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One cause in the table."""

    see: str
    check: str
    """A command."""
    fix: str


def telling(evidence: Evidence, meanings: Meanings) -> float:
    """Return how much an observation tells of a cause: how often it is there, and how seldom elsewhere."""
    return PROBABILITY[evidence.likelihood] * math.log(max(1e-9, meanings.lift(evidence)))


def speaking_for(cause: Cause, meanings: Meanings) -> list[Evidence]:
    """Return what speaks for a cause, what tells most first."""
    chosen = [one for one in cause.evidence if meanings.lift(one) >= TELLS]
    return sorted(chosen, key=lambda one: -telling(one, meanings))


def speaking_against(cause: Cause, meanings: Meanings) -> list[Evidence]:
    """Return what speaks against a cause, the strongest first."""
    return sorted((one for one in cause.evidence if meanings.lift(one) <= 1.0 / TELLS), key=meanings.lift)


def sentence(evidence: Evidence, meanings: Meanings, say: Say) -> str:
    """Return an observation as a sentence; of a question, what was answered to it."""
    value = meanings.value(evidence.observation)
    if value is None:
        return meanings.sentence(evidence.observation, say)
    question, label = value
    return say("entry.sign.answer", question=say.text(question), label=say.text(label).rstrip("."))


def rows(entry: Entry, meanings: Meanings, say: Say) -> list[Row]:
    """Return a row for each cause: what is seen of it and of no other cause here, what shows it, and the first fix."""
    signs = {cause.id: [one.observation for one in speaking_for(cause, meanings)] for cause in entry.causes}
    found: list[Row] = []
    for cause in entry.causes:
        others = {name for other, names in signs.items() if other != cause.id for name in names}
        own = [name for name in signs[cause.id] if name not in others and meanings.value(name) is None]
        see = meanings.sentence(own[0], say) if own else say.text(cause.title)
        if cause.fixes:
            found.append(Row(see=see, check=_check(own[:1] + signs[cause.id]), fix=say.text(cause.fixes[0].title)))
    return found


def _check(names: list[str]) -> str:
    """Return the command that shows the first of these observations that a probe can show."""
    kinds = [name.partition(".")[0] for name in names[: SHOWN + 1]]
    return next((_CHECKS[kind] for kind in kinds if kind in _CHECKS), _OUTPUT)


def table(entry: Entry, meanings: Meanings, say: Say, columns: int) -> list[str]:
    """Return the table as lines of at most so many columns; on a narrow page the cells stand below one another."""
    if columns < NARROW:
        return _stacked(entry, meanings, say, columns)
    left = max(12, (columns - 4) * 2 // 5)
    middle = max(10, (columns - 4) * 2 // 7)
    sizes = (left, middle, max(10, columns - 4 - left - middle))
    heads = tuple(say(name) for name in _HEADS)
    lines = _cells(heads, sizes)
    for row in rows(entry, meanings, say):
        lines += ["─" * columns, *_cells((row.see, row.check, row.fix), sizes)]
    return lines


def _cells(texts: tuple[str, ...], sizes: tuple[int, ...]) -> list[str]:
    wrapped = [_wrapped(text.replace("`", "'"), size) for text, size in zip(texts, sizes, strict=True)]
    height = max(map(len, wrapped))
    padded = [[*lines, *([""] * (height - len(lines)))] for lines in wrapped]
    rows_ = zip(*padded, strict=True)
    return ["  ".join(pad(cell, size) for cell, size in zip(row, sizes, strict=True)).rstrip() for row in rows_]


def _wrapped(text: str, columns: int) -> list[str]:
    """Return lines of at most so many columns; what is longer, such as the name of a variable, is broken."""
    lines: list[str] = []
    for whole in wrap(text, columns):
        line = whole
        while width(line) > columns:
            part = next(line[:n] for n in range(len(line), 0, -1) if n == 1 or width(line[:n]) <= columns)
            lines.append(part)
            line = line[len(part) :]
        lines.append(line)
    return lines


def _stacked(entry: Entry, meanings: Meanings, say: Say, columns: int) -> list[str]:
    lines = _wrapped(" · ".join(say(name) for name in _HEADS), columns)
    for row in rows(entry, meanings, say):
        lines.append("─" * columns)
        for text in (row.see, row.check, row.fix):
            lines += _wrapped(text.replace("`", "'"), columns)
    return lines
