"""What the lines of all logs that signatures matched say together: an observation for each signature."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.observation import Observation
from distkb.evidence.run.timeline import waited
from distkb.evidence.scanner.scan import FileScan, LineMatch, hit_quote

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from distkb.evidence.run.derive import Derived
    from distkb.evidence.run.timeline import Timeline

QUOTES = 6
"""Quotes of one observation."""
CONSEQUENCE = 0.3
"""Certainty that an error tells of the cause although another rank had failed by itself before."""


def signature_observations(
    scans: Sequence[FileScan], result: Derived, endings: Collection[str] = ()
) -> list[Observation]:
    """One observation for each signature that any log shows: each rank's first hit, in order of time.

    An ending is no rank's, whichever task's label its line carries.
    """
    owners = {
        (id(scan), hit.order, hit.signature): process.rank
        for process in result.run.processes
        for scan, hit in process.hits
    }
    hits: dict[str, list[tuple[FileScan, LineMatch]]] = {}
    counts: dict[str, int] = {}
    for scan in scans:
        for hit in scan.hits:
            if (scan.file.name, hit.order, hit.signature) not in result.aftermath:
                hits.setdefault(hit.signature, []).append((scan, hit))
        for name, count in scan.counts.items():
            counts[name] = counts.get(name, 0) + count
    found: list[Observation] = []
    for name in sorted(hits):
        placed: list[_Placed] = []
        for scan, hit in hits[name]:
            rank = None if name in endings else owners.get((id(scan), hit.order, hit.signature), hit.rank)
            placed.append((scan, hit, rank))
        quotes = tuple(hit_quote(*one, _time(one[1], result.timeline)) for one in _spread(placed))
        first = hits[name][0][1]
        found.append(Observation(id=name, source="log", quotes=quotes, count=counts[name], values=first.values))
    return found


def consequences(seen: Sequence[Observation], errors: Collection[str], first: int | None) -> list[Observation]:
    """The observations, those less sure that only other ranks printed than the one that failed by itself first."""
    if first is None:
        return list(seen)
    return [
        msgspec.structs.replace(o, certainty=CONSEQUENCE * o.certainty)
        if o.id in errors and all(quote.rank not in {None, first} for quote in o.quotes)
        else o
        for o in seen
    ]


def _time(hit: LineMatch, timeline: Timeline) -> float | None:
    """Time of a hit, where its line tells it or how long it had waited since the line before."""
    base = timeline.times.of(hit.stamp)
    if base is None or hit.exact:
        return base
    delay = waited(hit.text)
    return base + delay if delay else None


_Placed = tuple[FileScan, LineMatch, int | None]
"""A hit with its file and rank."""


def _spread(hits: Sequence[_Placed]) -> list[_Placed]:
    """A few hits, from as many ranks and files as can be."""
    first: dict[tuple[int | None, str | None], _Placed] = {}
    for one in hits:
        first.setdefault((one[2], None if one[2] is not None else one[0].file.name), one)
    spread = list(first.values())[:QUOTES]
    shown = {_place(one) for one in spread}
    rest = (one for one in hits if _place(one) not in shown)
    return [*spread, *islice(rest, max(0, 3 - len(spread)))]


def _place(one: _Placed) -> tuple[str, int, str]:
    return one[0].file.name, one[1].line, one[1].text
