"""What a run said of sizes, held against each other: how often its data was divided, and of what two tensors were."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple

from distkb.evidence.observation import Observation
from distkb.evidence.run.lines import Line, Lines
from distkb.evidence.run.sayings import templates
from distkb.evidence.scanner.scan import hit_quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from distkb.evidence.scanner.scan import FileScan, LineMatch

_BYTES = frozenset({"sent_bytes", "expected_bytes"})
Division = Literal["never", "once", "twice"]
"""How often the data was divided over the ranks."""
ALIKE = 1.1
"""How many times as large the larger of two tensors may be that are meant to be the same."""
FEWEST_STEPS = 4
"""Steps of an epoch from which their number is no accident."""
_MOST = 8
"""Different numbers of one sort that are tried: where there are more, they are no sizes."""
_LONGEST = 400
_CLAUSE = re.compile(r",(?!\d)|[;|()]| [-/] ")
_N = r"(?P<n{}>\d{{1,3}}(?:,\d{{3}}){{1,3}}|\d{{1,10}})(?![\d.:%]|[eE][-+]\d)"
"""A whole number, with or without commas; the braces number its group."""
_OTHER = re.compile(
    r"(?i)\b(?:val\w*|test\w*|eval\w*|dev|hold-?out|total|global|effective|param\w*|workers?|threads?|pid|seed|lr)\b"
    r"|\bport[=:]"
)
"""Words of a clause whose number is the size of something else."""
_ACCUMULATES = re.compile(r"(?i)\baccum(?:ulat\w*)?\b|_accum\w*")
_SAMPLES = r"train\w*|data ?set|samples|examples|records|rows|sequences"
_DATA = re.compile(
    rf"(?i)\b(?:{_SAMPLES})\b[^\d]{{0,24}}{_N.format(1)}|{_N.format(2)}\s(?:\w{{1,20}}\s){{0,3}}(?:{_SAMPLES})\b"
)
_MADE = r"steps|batches|iterations|iters|updates"
_STEPS = re.compile(
    rf"(?i)\b(?:{_MADE})(?:[ _]per[ _]epoch)?[ =:]{{1,3}}{_N.format(1)}|{_N.format(2)}\s(?:\w{{1,20}}\s)?(?:{_MADE})\b"
    rf"|\b(?:step|batch|iteration|iter)[ =:\[]{{1,3}}\d{{1,10}} ?(?:/|of) ?{_N.format(3)}"
)
_PER = r"(?:[ _]per[ _](?:device|gpu|rank|process|worker))?"
_BATCH = re.compile(
    rf"(?i)\bbatch(?:[ _-]?size)?{_PER}[ =:]{{1,3}}{_N.format(1)}(?! ?(?:/|of)\b)|\bbatches of {_N.format(2)}"
)
_EACH = re.compile(r"(?i)\bper[ _-](?:device|gpu|rank|process|worker)\b|\b(?:local|micro)\w{0,20}[ _-]?batch")


class Size(NamedTuple):
    """A number that a line states."""

    value: int
    line: Line
    each: bool = False
    """Whether the line says that it holds for each rank by itself."""


def told_apart(hits: Iterable[tuple[FileScan, LineMatch]]) -> Observation | None:
    """Say of what two ranks' tensors are whose sizes do not fit; None where no line says.

    As many numbers of 2 or 4 times as many bytes; nearly as many, as of one tensor that the ranks made from data
    of their own; or neither.
    """
    for scan, hit in hits:
        if hit.values.keys() >= _BYTES:
            small, large = sorted((int(hit.values["sent_bytes"]), int(hit.values["expected_bytes"])))
            of = "two-precisions" if large in {2 * small, 4 * small} else "two-shapes"
            of = "one-tensor" if small < large <= ALIKE * small else of
            return Observation(id=f"run.sizes-of-{of}", source="log", quotes=(hit_quote(scan, hit, hit.rank, None),))
    return None


def divided(work: Mapping[str, Sequence[Line]], world: int | None) -> tuple[Division, tuple[Line, ...]] | None:
    """Return how the data was divided and the lines that show it; None where once, or where the run does not say it.

    Of N samples, W ranks and batches of B, each rank makes N / (W B) steps in an epoch. What a line says again and
    again is no size of the data, but what was seen of it.
    """
    if world is None or world < 2:
        return None
    said = Lines()
    once = Lines()
    for own in work.values():
        found_here = Lines.given(own).where(_may_say)
        times = Counter(templates(found_here))
        said += found_here
        once += found_here.pick([at for at, template in enumerate(templates(found_here)) if times[template] == 1])
    if any(shape.once(_accumulates) for shape in said.shapes()):
        return None
    data, batches = list(_sizes(once, _DATA)), list(_sizes(once, _BATCH))
    steps = list(_sizes(said, _STEPS)) if data and batches else []
    found: tuple[Division, tuple[Line, ...]] | None = None
    for samples in data:
        for batch in batches:
            share = samples.value / (world * max(batch.value, 1))
            for made in steps:
                kind = _division(made.value, share, world, each=batch.each)
                if kind == "once":
                    return None
                if kind is not None and found is None:
                    found = kind, tuple(dict.fromkeys((samples.line, batch.line, made.line)))
    return found


def _division(steps: int, share: float, world: int, *, each: bool) -> Division | None:
    if steps < FEWEST_STEPS:
        return None
    if _is_about(steps, share):
        return "once"
    if _is_about(steps, share / world):
        return "twice"
    return "never" if each and _is_about(steps, share * world) else None


def _is_about(steps: int, share: float) -> bool:
    """Whether so many steps are a share of the data, whichever way it was rounded, and then rounded again."""
    return abs(steps - share) < 1 or (share > 2 * FEWEST_STEPS and abs(steps - share) <= 1)


def _may_say(text: str) -> bool:
    return _accumulates(text) or any(pattern.search(text[:_LONGEST]) for pattern in (_DATA, _BATCH, _STEPS))


def _accumulates(text: str) -> bool:
    return _ACCUMULATES.search(text[:_LONGEST]) is not None


def _sizes(lines: Iterable[Line], pattern: re.Pattern[str]) -> Iterator[Size]:
    """The different numbers of one sort that the lines state, as many as are tried."""
    seen: set[int] = set()
    for line in lines:
        text = line.text[:_LONGEST]
        each = _EACH.search(text) is not None
        for clause in _CLAUSE.split(text):
            found = pattern.search(clause) if _OTHER.search(clause) is None else None
            if found is None:
                continue
            value = int(next(filter(None, found.groups())).replace(",", ""))
            if value not in seen:
                seen.add(value)
                yield Size(value, line, each)
            if len(seen) == _MOST:
                return
