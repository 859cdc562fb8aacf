"""How sure the answer is, in words and figures that promise no more than was computed."""

from __future__ import annotations

from typing import Literal

from distkb.diagnosis.model import Diagnosis, RankedCause

SUPPOSED, LEAST = 3, 0.08
"""Most causes of a run of which nothing says that it failed, and the least probability of the first one's entry."""
NEAR = 1 / 3
"""Share of the probability of an entry's first cause from which on another of its causes is not told from it."""
SIBLINGS = 2
"""Such causes that are shown."""
CLEAR = 1.1
"""Weight from which an observation is a reason to think of a cause where nothing is known to have failed."""

Answer = Literal["named", "leading", "undecided", "unknown", "nothing-wrong", "no-evidence"]


def answer(diagnosis: Diagnosis) -> Answer:
    """Return the verdict; where nothing speaks of a failure, whether that is because nothing could be read."""
    if diagnosis.verdict != "no-evidence":
        return diagnosis.verdict
    return "nothing-wrong" if diagnosis.evidence.bytes_read else "no-evidence"


def percent(probability: float) -> str:
    """Return a probability for people; nothing is ever certain, so 0% and 100% do not occur."""
    if probability >= 0.99:
        return ">99%"
    if probability < 0.01:
        return "<1%"
    return f"{probability * 100:.0f}%"


def strength(weight: float) -> str:
    """Return how much one observation matters: one mark for a little, two from a factor of 3, three from 10."""
    mark = "+" if weight > 0 else "-"
    size = abs(weight)
    return mark * (3 if size >= 2.3 else 2 if size >= 1.1 else 1)


def entry_total(diagnosis: Diagnosis, entry: str) -> float:
    """Return the probability of an entry: that of all its causes together."""
    return sum(r.probability for r in diagnosis.causes if r.entry.id == entry)


def best_of_entries(diagnosis: Diagnosis) -> tuple[RankedCause, ...]:
    """Return the best cause of each entry, the most probable entry first."""
    best: dict[str, RankedCause] = {}
    for ranked in diagnosis.causes:
        best.setdefault(ranked.entry.id, ranked)
    return tuple(best.values())


def could_be(diagnosis: Diagnosis) -> tuple[RankedCause, ...]:
    """Return what it could be if something is wrong where nothing says so: the best causes of the first entries.

    Empty where nothing that was read speaks for the first, or where it is hardly likely.
    """
    found = best_of_entries(diagnosis)[:SUPPOSED]
    if not found or entry_total(diagnosis, found[0].entry.id) < LEAST:
        return ()
    return found if _may_hang(diagnosis) or any(c.weight >= CLEAR for c in found[0].evidence) else ()


def supposition(diagnosis: Diagnosis) -> str:
    """Return the key of the words that stand before what it could be.

    The run may stand still where its output ends; of one of which no output was read, nothing is known.
    """
    if not diagnosis.evidence.log_coverage:
        return "report.if-it-fails"
    return "report.if-it-hangs" if _may_hang(diagnosis) else "report.if-it-is-wrong"


def _may_hang(diagnosis: Diagnosis) -> bool:
    return any(one.supposes for one in diagnosis.evidence.observations)


def siblings(diagnosis: Diagnosis, ranked: RankedCause) -> tuple[RankedCause, ...]:
    """Return the other causes of an entry that the evidence does not tell from the one that leads, likeliest first.

    None where a finding in the user's files is behind the first cause.
    """
    if diagnosis.remedy is not None and ranked is diagnosis.causes[0]:
        return ()
    close = (r for r in diagnosis.causes if r is not ranked and r.entry.id == ranked.entry.id)
    return tuple(r for r in close if r.probability >= NEAR * ranked.probability)[:SIBLINGS]


def runner_up(diagnosis: Diagnosis) -> RankedCause | None:
    """Return the most probable cause of another entry, or of the same entry where that one comes closer.

    The causes of the same entry that are shown with the first one are not repeated.
    """
    if len(diagnosis.causes) < 2:
        return None
    first = diagnosis.causes[0]
    shown = siblings(diagnosis, first)
    sibling = next((r for r in diagnosis.causes[1:] if r.entry.id == first.entry.id and r not in shown), None)
    rival = next((r for r in diagnosis.causes[1:] if r.entry.id != first.entry.id), None)
    if sibling is None or rival is None:
        return rival or sibling
    return sibling if sibling.probability > entry_total(diagnosis, rival.entry.id) else rival
