"""How much a step would tell, fast enough to compare hundreds of steps between two key presses.

Expected information gain is the mutual information of cause and outcome (Lindley 1956; Cover and Thomas, Elements of
Information Theory, 2.4): I = H(outcome) - sum over causes of P(cause) H(outcome | cause). Written so, it needs one
entropy of the outcomes and one dot product instead of one posterior per outcome. Nearly every cause says nothing about
a given observation and shares the background's row, so a row stores only the causes that differ from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter, mul

import msgspec

from distkb.diagnosis.likelihood import LikelihoodTable

MISTAKE = 0.1
"""How often a person's answer is another one than the true one."""

MISREAD = 0.03
"""How often a probe's or a collected artifact's outcome is another one than the true one."""


class OutcomeRow(msgspec.Struct, frozen=True):
    """P(outcome | hypothesis) of one step, as the background row and the hypotheses that differ from it."""

    outcomes: tuple[str, ...]
    """Names of the outcomes: values of a fact, or ids of observations and last the empty string for none of them."""
    base: tuple[float, ...]
    base_entropy: float
    who: tuple[int, ...]
    """Numbers of the hypotheses that differ, ascending."""
    shifts: tuple[tuple[float, ...], ...]
    """For each outcome: its probability under each of `who`, less the base's."""
    entropy_shifts: tuple[float, ...]

    def predicted(self, belief: Sequence[float]) -> list[float]:
        """Return P(outcome) under a belief over all hypotheses, in the table's order; it sums to 1."""
        if not self.who:
            return list(self.base)
        return self._mixed(self._held(belief))

    def gain_bits(self, belief: Sequence[float]) -> float:
        """Return the expected information about the hypothesis, in bits; `belief` sums to 1."""
        if not self.who:
            return 0.0
        held = self._held(belief)
        conditional: float = self.base_entropy + sum(map(mul, held, self.entropy_shifts))
        return max(0.0, entropy_bits(self._mixed(held)) - conditional)

    def chances(self, numbers: Sequence[int]) -> list[list[float]]:
        """Return for every outcome its probability under each of these hypotheses."""
        places = {number: place for place, number in enumerate(self.who)}
        at = [places.get(number) for number in numbers]
        return [
            [base if place is None else base + shift[place] for place in at]
            for base, shift in zip(self.base, self.shifts, strict=True)
        ]

    def _mixed(self, held: Sequence[float]) -> list[float]:
        return [b + sum(map(mul, held, shift)) for b, shift in zip(self.base, self.shifts, strict=True)]

    def _held(self, belief: Sequence[float]) -> tuple[float, ...]:
        if len(self.who) == 1:
            return (belief[self.who[0]],)
        held: tuple[float, ...] = itemgetter(*self.who)(belief)
        return held


def make_row(
    table: LikelihoodTable, reveals: Sequence[str], mistake: float = 0.0, values: tuple[str, ...] = ()
) -> OutcomeRow:
    """Return the row of a step that reveals these: one fact's name, or observations and `fact=value`s.

    Several observations are taken as exclusive outcomes: each of them, and none; of a fact its `values`, or all. With
    probability `mistake` the outcome is drawn from all of them alike.
    """
    fact = table.facts.get(reveals[0]) if len(reveals) == 1 else None
    if fact is not None:
        names = values or tuple(v.value for v in fact.values)
        concerned = _concerned(table, [f"{fact.id}={value}" for value in names])
        rows = [_among(names, table.fact_distribution(fact.id, table.hypotheses[i].id)) for i in concerned]
        return _packed(names, _among(names, table.fact_background(fact.id)), concerned, rows, mistake)
    known = [key for key in reveals if table.knows(key)]
    concerned = _concerned(table, known)
    base = [table.background(key) for key in known]
    rows = [_exclusive(_chances(table, known, table.hypotheses[i].id)) for i in concerned]
    return _packed((*known, ""), _exclusive(base), concerned, rows, mistake)


def _among(names: Sequence[str], distribution: Mapping[str, float]) -> list[float]:
    """Return the probabilities of these values where it is known to be one of them."""
    total = sum(distribution[name] for name in names)
    return [distribution[name] / total for name in names]


def _concerned(table: LikelihoodTable, keys: Sequence[str]) -> list[int]:
    return sorted({number for key in keys for number in table.stating(key)})


def _chances(table: LikelihoodTable, keys: Sequence[str], hypothesis: str) -> list[float]:
    return [
        table.probability(key, hypothesis) if key in table.kinds else _fact_chance(table, key, hypothesis)
        for key in keys
    ]


def _fact_chance(table: LikelihoodTable, key: str, hypothesis: str) -> float:
    fact, _, value = key.partition("=")
    return table.fact_distribution(fact, hypothesis)[value]


def _exclusive(shown: Sequence[float]) -> list[float]:
    none = math.prod(1.0 - p for p in shown)
    total = sum(shown) + none
    return [*(p / total for p in shown), none / total]


def _packed(
    names: tuple[str, ...], base: list[float], who: list[int], rows: list[list[float]], mistake: float
) -> OutcomeRow:
    spread = mistake / len(names)
    base = [(1.0 - mistake) * p + spread for p in base]
    rows = [[(1.0 - mistake) * p + spread for p in row] for row in rows]
    entropy = entropy_bits(base)
    return OutcomeRow(
        outcomes=names,
        base=tuple(base),
        base_entropy=entropy,
        who=tuple(who),
        shifts=tuple(tuple(row[k] - base[k] for row in rows) for k in range(len(names))),
        entropy_shifts=tuple(entropy_bits(row) - entropy for row in rows),
    )


def entropy_bits(probabilities: Iterable[float]) -> float:
    """Shannon entropy in bits."""
    return -sum(p * math.log2(p) for p in probabilities if p > 0.0)
