"""The telling signs of a cause, strongest first, and the row that begins an entry: what to see, to check, to do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from distkb.catalogue.model import PROBABILITY, Cause, Cue, Entry, Fix
from distkb.locale import Say
from distkb.report.layout import pad, width, wrap
from distkb.report.meaning import Meanings

SHOWN = 5
"""Signs that are shown; the rest is folded."""
NARROW = 64
"""Columns below which three cells have no room beside one another."""
TELLS = 1.5
"""Least factor by which an observation is likelier, or less likely, under the cause to be worth a line."""
SAID = 0.4
"""What people write in reports is worth so much of a sign that can be seen in the run itself."""
USUAL = 0.5
"""A cause is recognised by what it shows at least this often, where there is such a thing."""
FEW = 2
"""A question with so few answers is none that one sees the answer of at a glance."""
OUTPUT = "distkb diagnose logs/"
"""What shows everything that is read from the run's output."""
CHECKS: Mapping[str, str] = {
    "allreduce": "distkb probe allreduce",
    "code": "distkb diagnose train.py stacks/",
    "config": "distkb diagnose my_project/",
    "env": "distkb probe env",
    "flight-recorder": "distkb probe flight-recorder fr/",
    "fsdp": "distkb probe fsdp",
    "loader": "distkb probe loader --loader my_project.data:build_loader",
    "logs": OUTPUT,
    "model": "distkb probe fsdp",
    "network": "distkb probe network",
    "run": OUTPUT,
    "script": "distkb probe script train.py",
    "settings": "distkb probe env",
    "stacks": "distkb probe stacks",
    "trace": "distkb probe trace logs/",
}
"""What makes a finding, by the beginning of its id."""
SEEN = frozenset({"logs", "run"})
"""Findings that a reader of the output sees."""
_HEADS = ("entry.table.see", "entry.table.check", "entry.table.fix")


class SignsRow(msgspec.Struct, frozen=True, kw_only=True):
    """One cause in the table."""

    cause: Cause
    seen: str | None
    """The observation by which one notices it."""
    checked: str | None
    """Another one that confirms it."""
    command: str
    """What shows that one; empty where one looks for it oneself."""
    fix: Fix | None


def speaking_for(cause: Cause, meanings: Meanings, beside: Sequence[Cause] = ()) -> list[Cue]:
    """Return what speaks for a cause, what tells most first; what causes beside it share tells less."""
    shared = Counter(e.observation for other in beside for e in other.cues if meanings.lift(e) >= TELLS)

    def worth(evidence: Cue) -> float:
        said = SAID if meanings.kind(evidence.observation) == "said" else 1.0
        return telling(evidence, meanings) / math.sqrt(max(1, shared[evidence.observation])) * said

    chosen = [one for one in cause.cues if meanings.lift(one) >= TELLS]
    return sorted(chosen, key=lambda one: (-worth(one), one.observation))


def telling(evidence: Cue, meanings: Meanings) -> float:
    """Return how much an observation tells of a cause: how often it is there, and how seldom elsewhere."""
    return PROBABILITY[evidence.likelihood] * math.log(max(1e-9, meanings.lift(evidence)))


def speaking_against(cause: Cause, meanings: Meanings) -> list[Cue]:
    """Return what speaks against a cause, the strongest first."""
    chosen = [one for one in cause.cues if meanings.lift(one) <= 1.0 / TELLS]
    return sorted(chosen, key=lambda one: (meanings.lift(one), one.observation))


def usual(cause: Cause, meanings: Meanings, beside: Sequence[Cause]) -> list[str]:
    """Return what shows a cause, the most telling first; what shows seldom comes last."""
    ranked = speaking_for(cause, meanings, beside)
    return [e.observation for e in sorted(ranked, key=lambda e: PROBABILITY[e.likelihood] < USUAL)]


def rows(causes: Sequence[Cause], meanings: Meanings) -> Iterator[SignsRow]:
    """Yield for each cause what one sees where it is at work, how to check that it is this one, and the first fix.

    Two causes are told by different things where they have any; a check shows more than what one would answer anyway.
    """
    used: set[str] = set()
    for cause in causes:
        ranked = sorted(usual(cause, meanings, causes), key=used.__contains__)
        often = {e.observation for e in cause.cues if PROBABILITY[e.likelihood] >= USUAL}
        seen = next((o for o in ranked if _is_seen(o, meanings)), None)
        seen = seen or next((o for o in ranked if meanings.kind(o) == "said"), None)
        checks = [o for o in ranked if o != seen and meanings.kind(o) != "said"]
        own = (o for o in checks if o not in used and o in often and meanings.kind(o) != "answer")
        checked = next(own, next(iter(checks), None))
        used |= {one for one in (seen, checked) if one}
        fix = next(iter(cause.fixes), None)
        yield SignsRow(cause=cause, seen=seen, checked=checked, command=command(checked, meanings), fix=fix)


def command(observation: str | None, meanings: Meanings) -> str:
    """Return what shows an observation; empty where one looks for the line, or knows the answer, oneself."""
    if observation is None:
        return OUTPUT
    return CHECKS.get(observation.partition(".")[0], "") if meanings.kind(observation) == "finding" else ""


def _is_seen(observation: str, meanings: Meanings) -> bool:
    kind = meanings.kind(observation)
    if kind == "answer":
        return meanings.choices(observation) > FEW
    return kind == "line" or (kind == "finding" and observation.partition(".")[0] in SEEN)


def table(entry: Entry, meanings: Meanings, say: Say, columns: int) -> list[str]:
    """Return the table as lines of at most so many columns; on a narrow page the cells stand below one another."""
    heads = tuple(say(name) for name in _HEADS)
    lines = [_cells(row, meanings, say) for row in rows(entry.causes, meanings)]
    if columns < NARROW:
        return _stacked(heads, lines, columns)
    left = max(12, (columns - 4) * 2 // 5)
    middle = max(10, (columns - 4) * 2 // 7)
    sizes = (left, middle, max(10, columns - 4 - left - middle))
    return _side_by_side(heads, sizes) + [
        line for cells in lines for line in ("─" * columns, *_side_by_side(cells, sizes))
    ]


def _cells(row: SignsRow, meanings: Meanings, say: Say) -> tuple[str, str, str]:
    """Return the cells of a row: the observation or else the cause, the command or else the sentence, and the fix."""
    see = meanings.sentence(row.seen, say) if row.seen else say.text(row.cause.title)
    check = row.command or meanings.sentence(row.checked or "", say)
    return f"{row.cause.id}  {see}", check, say.text(row.fix.title) if row.fix else ""


def _side_by_side(texts: Sequence[str], sizes: Sequence[int]) -> list[str]:
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


def _stacked(heads: Sequence[str], rows_: Sequence[Sequence[str]], columns: int) -> list[str]:
    lines = _wrapped(" · ".join(heads), columns)
    for cells in rows_:
        lines.append("─" * columns)
        for text in cells:
            lines += _wrapped(text.replace("`", "'"), columns)
    return lines
