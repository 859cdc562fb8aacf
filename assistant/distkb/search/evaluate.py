"""Measures search on labelled queries.

A case has `query`, `relevant` (entry id → grade: 3 answers it, 2 useful, 1 marginal), and optionally `id`, `lang` and
`kind`. Ids that the catalogue does not have are dropped; a case of which nothing is left is not counted.
`hit@k` is the share of cases with an entry of grade 3 among the first k; a case without any such entry in the catalogue
counts for nDCG only. `mrr` is the mean reciprocal rank of the first entry of grade 3, over the same cases as `hit@k`.
`ndcg@10` has gains 2^grade − 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec

from distkb.search.query import search

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from distkb.search.index import Index

DEPTH = 10


class QueryCase(msgspec.Struct, frozen=True):
    """A labelled query; keys that are not needed here are ignored."""

    query: str
    relevant: dict[str, int]
    id: str = ""
    lang: str = ""
    kind: str = ""


class Figures(TypedDict):
    """Figures of a set of cases; None where no case counts."""

    cases: int
    hit_cases: int
    hit_at_1: float | None
    hit_at_3: float | None
    mrr: float | None
    ndcg_at_10: float | None


class Outcome(TypedDict):
    """What search made of one case."""

    id: str
    query: str
    lang: str
    kind: str
    ranked: list[str]
    relevant: dict[str, int]
    first: int | None
    """Rank of the first entry of grade 3, from 1; None if it is not among the first ten or there is none to find."""
    ndcg: float


def read_cases(text: str) -> list[QueryCase]:
    """Read JSON lines.

    Raises:
        ValueError: A line is no case; the message names its number.
    """
    cases: list[QueryCase] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            cases.append(msgspec.json.decode(line, type=QueryCase))
        except msgspec.MsgspecError as error:
            raise ValueError(f"line {number}: {error}") from None
    return cases


def evaluate(index: Index, cases: Iterable[QueryCase]) -> dict[str, Any]:
    """Run every case; return {"figures": {"all": …, "lang": {…}, "kind": {…}}, "cases": [Outcome]}."""
    known = set(index.ids)
    outcomes = [
        _outcome(index, case, relevant)
        for case in cases
        if (relevant := {id_: grade for id_, grade in case.relevant.items() if id_ in known and grade > 0})
    ]
    return {
        "figures": {
            "all": figures(outcomes),
            "lang": {key: figures([o for o in outcomes if o["lang"] == key]) for key in _keys(outcomes, "lang")},
            "kind": {key: figures([o for o in outcomes if o["kind"] == key]) for key in _keys(outcomes, "kind")},
        },
        "cases": outcomes,
    }


def figures(outcomes: Sequence[Outcome]) -> Figures:
    """Compute the figures of some outcomes, rounded to four digits."""
    answerable = [o for o in outcomes if 3 in o["relevant"].values()]
    ranks = [o["first"] for o in answerable]
    return Figures(
        cases=len(outcomes),
        hit_cases=len(answerable),
        hit_at_1=_mean([float(rank == 1) for rank in ranks]),
        hit_at_3=_mean([float(rank is not None and rank <= 3) for rank in ranks]),
        mrr=_mean([1.0 / rank if rank else 0.0 for rank in ranks]),
        ndcg_at_10=_mean([o["ndcg"] for o in outcomes]),
    )


def ndcg(grades: Sequence[int], ideal: Iterable[int], depth: int = DEPTH) -> float:
    """Normalised discounted cumulative gain of ranked grades against the grades there are, from 0 to 1."""
    best = sum(_gain(grade, place) for place, grade in enumerate(sorted(ideal, reverse=True)[:depth]))
    return sum(_gain(grade, place) for place, grade in enumerate(grades[:depth])) / best if best else 0.0


def _gain(grade: int, place: int) -> float:
    return float(2**grade - 1) / math.log2(place + 2)


def _outcome(index: Index, case: QueryCase, relevant: dict[str, int]) -> Outcome:
    ranked = [hit.id for hit in search(index, case.query, limit=DEPTH)]
    first = next((place for place, id_ in enumerate(ranked, start=1) if relevant.get(id_) == 3), None)
    value = ndcg([relevant.get(id_, 0) for id_ in ranked], relevant.values())
    return Outcome(
        id=case.id,
        query=case.query,
        lang=case.lang,
        kind=case.kind,
        ranked=ranked,
        relevant=relevant,
        first=first,
        ndcg=round(value, 4),
    )


def _keys(outcomes: Sequence[Outcome], key: str) -> list[str]:
    return sorted({str(o[key]) for o in outcomes if o[key]})  # type: ignore[literal-required]


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None
