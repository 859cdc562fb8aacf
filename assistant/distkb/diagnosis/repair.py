"""Which fix to try, and what it still costs to get the run going: the expected cost of repair.

With one fault at a time the cheapest order of trying fixes is by probability of success over cost, and the expected
cost of a plan is the sum of each fix's cost times the chance that it is still needed (Heckerman, Breese and Rommelse,
Decision-Theoretic Troubleshooting, CACM 38(3), 1995). A question is worth asking when it lowers that cost by more than
its own. Costs are in seconds of an engineer's time.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Sequence

import msgspec

from distkb.catalogue.model import PROBABILITY, Cost, Fix, Risk
from distkb.diagnosis.likelihood import LikelihoodTable

EFFORT: dict[Cost, float] = {"seconds": 420.0, "edit": 700.0, "rerun": 1000.0, "reinstall": 2700.0, "admin": 7200.0}
"""Seconds that a fix takes, the run that shows whether it helped included."""

RISK: dict[Risk, float] = {"none": 1.0, "low": 1.1, "medium": 1.5, "high": 2.5}
"""A risky fix costs this many times its effort: it may have to be taken back."""

WORKAROUND = 1.3
"""A fix that only hides the cause has to be replaced later."""

GIVE_UP = 57600.0
"""Seconds that it costs when the catalogue does not help: two working days, until somebody upstream has an answer."""

CONSIDERED = 40
"""Only the most probable causes are in the plan; the others cannot change which step is best."""


class Repair(msgspec.Struct, frozen=True):
    """The next fix to try for one cause."""

    hypothesis: int
    """Its number in the table."""
    fix: Fix
    works: float
    """P(it helps | the cause)."""
    seconds: float


def seconds_of(fix: Fix) -> float:
    """Return what trying a fix costs."""
    return EFFORT[fix.cost] * RISK[fix.risk] * (WORKAROUND if fix.workaround else 1.0)


def plan(table: LikelihoodTable, belief: Sequence[float], tried: Container[str]) -> list[Repair]:
    """Return for each of the most probable causes, that one first, the first of its fixes that was not tried yet."""
    repairs: list[Repair] = []
    for number in heapq.nlargest(CONSIDERED, range(len(belief)), key=belief.__getitem__):
        cause = table.hypotheses[number].cause
        for fix in cause.fixes if cause is not None else ():
            if fix.id not in tried:
                repairs.append(Repair(number, fix, PROBABILITY[fix.works], seconds_of(fix)))
                break
    return repairs


def expected_cost(repairs: Sequence[Repair], masses: Sequence[float], total: float) -> float:
    """Return the expected seconds until the run is repaired or given up, times `total`.

    `masses` are the probabilities of the causes of `repairs`; `total` is the probability of all hypotheses together.
    Both may be joint with an outcome: the cost then comes multiplied by that outcome's probability.
    """
    order = sorted(
        ((mass * r.works, r.seconds) for r, mass in zip(repairs, masses, strict=True) if mass > 0.0),
        key=lambda item: item[1] / item[0],
    )
    spent, left = 0.0, total
    for success, seconds in order:
        if seconds * left >= success * GIVE_UP:
            break
        spent += seconds * left
        left -= success
    return spent + GIVE_UP * max(0.0, left)
