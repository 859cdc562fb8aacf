"""Which of several sources (logs, stacks, dumps, scripts, …) told the first cause from the others."""

from __future__ import annotations

import msgspec

from distkb.diagnosis.model import Diagnosis, RankedCause
from distkb.evidence.observation import Observation, Quote

_ARTIFACTS = {"stacks", "flight-recorder", "script", "trace", "config", "loader", "live"}
_LEAST = 0.5
"""Sum of log-odds below which no source can be said to have decided anything."""


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """The source that moved the first cause most."""

    source: str
    """`stacks`, `flight-recorder`, `script`, `trace`, `config`, `loader`, `live`, or `log`, `report`, `probe`."""
    weight: float
    """Sum of the weights of its observations, natural-log odds against any other cause."""
    quote: Quote | None
    """Where the strongest of them was seen."""


def source_of(observation: Observation) -> str | None:
    """Return where an observation comes from; None for what the user said or answered."""
    if observation.source in ("fact", "answer"):
        return None
    kind = observation.id.partition(".")[0]
    if observation.source == "probe":
        return kind if kind in _ARTIFACTS else "probe"
    return observation.source


def decided(diagnosis: Diagnosis) -> Decided | None:
    """Return the source that decided, where more than one kind was read and one of them speaks for the first cause."""
    if not diagnosis.causes:
        return None
    first = diagnosis.causes[0]
    read = {source for o in diagnosis.evidence.observations if o.quotes and (source := source_of(o))}
    sums = _sums(first)
    if len(read) < 2 or not sums:
        return None
    best = max(sums, key=lambda source: sums[source])
    if sums[best] < _LEAST:
        return None
    return Decided(source=best, weight=sums[best], quote=_strongest(first, best))


def _sums(first: RankedCause) -> dict[str, float]:
    sums: dict[str, float] = {}
    for contribution in first.evidence:
        source = source_of(contribution.observation)
        # What was looked for in vain supports a cause, but nobody would call it the deciding evidence.
        if source is not None and contribution.observation.present:
            sums[source] = sums.get(source, 0.0) + contribution.weight
    return sums


def _strongest(first: RankedCause, source: str) -> Quote | None:
    found = [c for c in first.evidence if source_of(c.observation) == source and c.observation.quotes]
    return max(found, key=lambda c: c.weight).observation.quotes[0] if found else None
