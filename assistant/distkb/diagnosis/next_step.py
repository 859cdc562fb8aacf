"""What to ask, collect or probe next: the step that tells the causes apart for the least effort.

Expected information gain of a step is the entropy of the belief minus its expected entropy after the step's outcome
(Lindley 1956). A step that can show several things is treated as one question with exclusive outcomes: each of the
things it reveals, and none of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from distkb.catalogue.model import Step
from distkb.diagnosis.belief import entropy_bits
from distkb.diagnosis.likelihood import LikelihoodTable
from distkb.diagnosis.model import NextStep

LEAST_GAIN_BITS = 0.08
"""A step that is expected to tell less than this is not worth a person's time."""

_MASS = 0.995
"""The least probable hypotheses beyond this mass are left out: they cannot change the choice."""


def next_step(
    table: LikelihoodTable, posterior: Mapping[str, float], steps: Iterable[Step], known: Iterable[str]
) -> NextStep | None:
    """The step with the most expected information per effort; None where no step tells enough.

    `known` are the ids of what was already seen or answered; a step that reveals nothing beyond them is left out.
    """
    seen = set(known)
    answered = {key.partition("=")[0] for key in seen if "=" in key}
    belief = _top(posterior)
    best: tuple[float, NextStep] | None = None
    for step in steps:
        open_ids = [key for key in step.reveals if key not in seen and key not in answered]
        if not open_ids or len(open_ids) < len(step.reveals) / 2:
            continue
        gain = expected_gain_bits(table, belief, open_ids)
        if gain < LEAST_GAIN_BITS:
            continue
        rate = gain / _effort(step.seconds)
        if best is None or rate > best[0]:
            best = (rate, NextStep(kind=step.kind, step=step, gain_bits=gain))
    return None if best is None else best[1]


def expected_gain_bits(table: LikelihoodTable, belief: Mapping[str, float], reveals: Iterable[str]) -> float:
    """Expected reduction of the entropy of `belief`, in bits, when the observations `reveals` become known."""
    rows = {hypothesis: _outcomes(table, hypothesis, tuple(reveals)) for hypothesis in belief}
    width = len(next(iter(rows.values())))
    before = entropy_bits(belief.values())
    after = 0.0
    for i in range(width):
        joint = [p * rows[h][i] for h, p in belief.items()]
        total = sum(joint)
        if total > 0.0:
            after += total * entropy_bits(j / total for j in joint)
    return max(0.0, before - after)


def _outcomes(table: LikelihoodTable, hypothesis: str, reveals: tuple[str, ...]) -> list[float]:
    """P(outcome | hypothesis) over exclusive outcomes; sums to 1."""
    if len(reveals) == 1 and reveals[0] in table.facts:
        return list(table.fact_distribution(reveals[0], hypothesis).values())
    shown: list[float] = []
    for key in reveals:
        if key in table.kinds:
            shown.append(table.probability(key, hypothesis))
        elif table.knows(key):
            fact, _, value = key.partition("=")
            shown.append(table.fact_distribution(fact, hypothesis)[value])
    none = math.prod(1.0 - p for p in shown)
    total = sum(shown) + none
    return [*(p / total for p in shown), none / total]


def _top(posterior: Mapping[str, float]) -> dict[str, float]:
    kept: dict[str, float] = {}
    mass = 0.0
    for key, p in sorted(posterior.items(), key=lambda item: (-item[1], item[0])):
        kept[key] = p
        mass += p
        if mass >= _MASS:
            break
    return {key: p / mass for key, p in kept.items()}


def _effort(seconds: float) -> float:
    """Effort grows with the square root of time: ten minutes of waiting are not sixty times ten seconds of it."""
    return math.sqrt(max(seconds, 1.0))
