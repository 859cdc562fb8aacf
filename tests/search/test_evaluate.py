"""Figures of search on labelled queries."""

from __future__ import annotations

import json

import pytest
from search_catalogue import catalogue

from distkb.search.evaluate import QueryCase, evaluate, ndcg, read_cases
from distkb.search.index import build, load

INDEX = load(build(catalogue()))


def test_only_cases_with_known_entries_count() -> None:
    """Unknown ids must be dropped, and a case of which none is left must not count."""
    cases = [
        QueryCase(query="port collision", relevant={"D4": 3, "X9": 3}, lang="en", kind="keyword"),
        QueryCase(query="port collision", relevant={"X9": 3}, lang="en", kind="keyword"),
        QueryCase(query="포트 충돌", relevant={"D4": 2}, lang="ko", kind="keyword"),
    ]
    result = evaluate(INDEX, cases)
    figures = result["figures"]
    assert figures["all"]["cases"] == 2
    assert figures["all"]["hit_cases"] == 1
    assert figures["all"]["hit_at_1"] == figures["all"]["mrr"] == 1.0
    assert figures["lang"]["ko"] | {"ndcg_at_10": 0} == {
        "cases": 1,
        "hit_cases": 0,
        "hit_at_1": None,
        "hit_at_3": None,
        "mrr": None,
        "ndcg_at_10": 0,
    }
    assert set(figures["kind"]) == {"keyword"}
    assert [case["first"] for case in result["cases"]] == [1, None]


def test_ndcg_by_hand() -> None:
    """The gain must be 2^grade − 1, discounted by the place, against the best order."""
    assert ndcg([3, 2], [2, 3]) == 1.0
    assert ndcg([], [3]) == 0.0
    assert ndcg([0, 3], [3]) == pytest.approx(0.6309, abs=1e-4)
    assert ndcg([1], []) == 0.0


def test_read_cases_names_the_bad_line() -> None:
    """A line that is no case must be refused with its number; extra keys and empty lines must not matter."""
    good = json.dumps({"query": "q", "relevant": {"D1": 3}, "note": "x"})
    assert read_cases(f"{good}\n\n{good}") == [QueryCase(query="q", relevant={"D1": 3})] * 2
    with pytest.raises(ValueError, match="line 2"):
        read_cases(f"{good}\n{{}}")
