"""What to ask, collect or probe next where nobody is there to answer: one step, printed with the diagnosis.

The step that tells the causes apart for the least effort. Expected information gain is the mutual information of cause
and outcome (`information`). A step that can show several things is treated as one question with exclusive outcomes:
each of the things it reveals, and none of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

from distkb.catalogue.model import Step
from distkb.diagnosis.information import Row, make_row
from distkb.diagnosis.likelihood import LikelihoodTable
from distkb.diagnosis.model import NextStep
from distkb.diagnosis.questions import ask_step
from distkb.evidence.observation import Evidence

OUTPUT = "collect.output"
"""Id of the step that asks for the run's output."""

LEAST_GAIN_BITS = 0.08
"""A step that is expected to tell less than this is not worth a person's time."""

PRESUMED = 0.7
"""A question that presupposes a fact is asked where the fact is at least this likely."""


def next_step(
    table: LikelihoodTable, posterior: Mapping[str, float], steps: Iterable[Step], known: Iterable[str]
) -> NextStep | None:
    """The step with the most expected information per effort; None where no step tells enough.

    `known` are the ids of what was already seen or answered; a step that reveals nothing beyond them is left out.
    """
    seen = known_names(known)
    best: tuple[float, NextStep] | None = None
    for step in steps:
        open_ids = [key for key in step.reveals if key not in seen]
        if not open_ids or len(open_ids) < len(step.reveals) / 2:
            continue
        gain = expected_gain_bits(table, posterior, open_ids)
        if gain < LEAST_GAIN_BITS:
            continue
        rate = gain / _effort(step.seconds)
        if best is None or rate > best[0]:
            best = (rate, NextStep(kind=step.kind, step=step, gain_bits=gain))
    return None if best is None else best[1]


def asks(table: LikelihoodTable, posterior: Mapping[str, float], known: Iterable[str]) -> Iterator[Step]:
    """The questions of the table's facts, as steps, without those that presuppose something else than what is known."""
    observed = frozenset(known)
    for fact in table.facts.values():
        if presumed(table, posterior, fact.when, observed):
            yield ask_step(fact)


def presumed(
    table: LikelihoodTable,
    posterior: Mapping[str, float],
    when: Iterable[str],
    observed: frozenset[str],
    row: Callable[[str], Row] | None = None,
) -> bool:
    """Whether one of the facts that a question presupposes was observed, or is likely where its value is open.

    `row` gives the row of a fact, where the caller keeps them.
    """
    wanted: dict[str, set[str]] = {}
    for key in when:
        name, _, value = key.partition("=")
        wanted.setdefault(name, set()).add(value)
    if not wanted or any(f"{name}={value}" in observed for name, values in wanted.items() for value in values):
        return True
    settled = known_names(observed)
    belief = [posterior.get(h.id, 0.0) for h in table.hypotheses]
    return any(
        name not in settled and _likely(row(name) if row else make_row(table, (name,)), belief, values) >= PRESUMED
        for name, values in wanted.items()
    )


def _likely(row: Row, belief: Sequence[float], values: Container[str]) -> float:
    return sum(p for value, p in zip(row.outcomes, row.predicted(belief), strict=True) if value in values)


def still_worth(steps: Iterable[Step], evidence: Evidence) -> Iterator[Step]:
    """The steps without the one that asks for the run's output, where that was read."""
    for step in steps:
        if step.id != OUTPUT or evidence.log_coverage == 0.0:
            yield step


def known_names(known: Iterable[str]) -> frozenset[str]:
    """The names under which observations are known: their ids, and for `fact=value` also the fact."""
    ids = set(known)
    return frozenset(ids | {key.partition("=")[0] for key in ids if "=" in key})


def expected_gain_bits(table: LikelihoodTable, belief: Mapping[str, float], reveals: Iterable[str]) -> float:
    """Expected reduction of the entropy of `belief`, in bits, when the observations `reveals` become known."""
    row = make_row(table, tuple(reveals))
    return row.gain_bits([belief.get(h.id, 0.0) for h in table.hypotheses])


def _effort(seconds: float) -> float:
    """Effort grows with the square root of time: ten minutes of waiting are not sixty times ten seconds of it."""
    return math.sqrt(max(seconds, 1.0))
