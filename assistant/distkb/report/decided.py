"""Which of several sources (logs, stacks, dumps, scripts, …) told the first cause from the others."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from distkb.diagnosis.model import Diagnosis, RankedCause
from distkb.evidence.observation import Observation, Quote

_LEAST = 1e-12
"""Probability below which a cause is out of the question."""


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """The source without which the first cause would lead least, or not at all."""

    source: str
    """`stacks`, `flight-recorder`, `script`, `trace`, `config`, or `log`, `report`, `probe`."""
    weight: float
    """By how much it moved the first cause: natural-log odds against any other cause, above 0."""
    quote: Quote | None
    """Where the strongest of them was seen."""


def source_of(observation: Observation) -> str | None:
    """Return where an observation comes from; None for what the user said or answered."""
    if observation.source in ("fact", "answer"):
        return None
    return observation.reader or observation.source


def decided(diagnosis: Diagnosis) -> Decided | None:
    """Return the source that decided, where more was read than logs and words, and it speaks for the first cause."""
    if not diagnosis.causes:
        return None
    first, *others = diagnosis.causes
    rivals = [ranked for ranked in others if ranked.entry.id != first.entry.id]
    read = {source for o in diagnosis.evidence.observations if o.quotes and (source := source_of(o))}
    sums = {source: weight for source in read if (weight := _moved(first, source)) > 0}
    if len(read) < 2 or read <= {"log", "report"} or not sums or not rivals:
        return None
    best = min(sums, key=lambda source: (_lead_without(source, first, rivals), -sums[source], source))
    return Decided(source=best, weight=sums[best], quote=_strongest(first, best))


def _lead_without(source: str, first: RankedCause, rivals: Sequence[RankedCause]) -> float:
    """Return by how much the first cause would lead had a source been silent, in natural-log odds."""
    return _without(source, first) - max(_without(source, rival) for rival in rivals)


def _without(source: str, ranked: RankedCause) -> float:
    return math.log(max(ranked.probability, _LEAST)) - _moved(ranked, source)


def _moved(ranked: RankedCause, source: str) -> float:
    """Return how far a source moved a cause; what it looked for in vain counts too."""
    return sum(c.weight for c in ranked.evidence if source_of(c.observation) == source)


def _strongest(first: RankedCause, source: str) -> Quote | None:
    found = [c for c in first.evidence if source_of(c.observation) == source and c.observation.quotes]
    return max(found, key=lambda c: c.weight).observation.quotes[0] if found else None
