"""What a question presupposes, and under which names observations are known already."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from distkb.diagnosis.information import OutcomeRow, make_row
from distkb.diagnosis.likelihood import LikelihoodTable

OUTPUT = "collect.output"
"""Id of the step that asks for the run's output."""

PRESUMED = 0.7
"""A question that presupposes a fact is asked where the fact is at least this likely."""


def presumed(
    table: LikelihoodTable,
    posterior: Mapping[str, float],
    when: Iterable[str],
    observed: frozenset[str],
    excluded: Container[str],
    row: Callable[[str], OutcomeRow] | None = None,
) -> bool:
    """Whether one of the facts that a question presupposes was observed, or is likely where its value is open.

    What is `excluded` is not presupposed. `row` gives the row of a fact, where the caller keeps them.
    """
    when = tuple(when)
    wanted: dict[str, set[str]] = {}
    for name, _, value in (key.partition("=") for key in when if key not in excluded):
        wanted.setdefault(name, set()).add(value)
    if not when or any(f"{name}={value}" in observed for name, values in wanted.items() for value in values):
        return True
    settled = known_names(observed)
    belief = [posterior.get(h.id, 0.0) for h in table.hypotheses]
    return any(
        name not in settled and _likely(row(name) if row else make_row(table, (name,)), belief, values) >= PRESUMED
        for name, values in wanted.items()
    )


def _likely(row: OutcomeRow, belief: Sequence[float], values: Container[str]) -> float:
    return sum(p for value, p in zip(row.outcomes, row.predicted(belief), strict=True) if value in values)


def known_names(known: Iterable[str]) -> frozenset[str]:
    """The names under which observations are known: their ids, and for `fact=value` also the fact."""
    ids = set(known)
    return frozenset(ids | {key.partition("=")[0] for key in ids if "=" in key})
