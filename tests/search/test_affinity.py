"""Reports as soft evidence."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
from search_catalogue import catalogue

from distkb.search.affinity import CAP, affinity
from distkb.search.index import build, load

INDEX = load(build(catalogue()))

EN = "Training hangs. Every time it stops at the checkpoint save: we call a barrier on rank 0 only."
KO = "학습이 먹통이 됩니다. 체크포인트 저장에서 매번 멈추는데, 랭크 0에서만 배리어를 부르고 있습니다."


def test_report_speaks_for_its_entry_in_both_languages() -> None:
    """The described entry must have the largest weight, above zero, whatever the language."""
    for report in (EN, KO):
        weights = affinity(INDEX, report)
        assert max(weights, key=lambda id_: weights[id_]) == "D21"
        assert weights["D21"] > 0.5


def test_vague_report_says_nothing() -> None:
    """A report without telling words must move no entry."""
    assert set(affinity(INDEX, "Hello, what should I do? Please help!").values()) == {0.0}


def test_short_report_says_less() -> None:
    """One telling word must weigh less than a description that contains it."""
    assert 0.0 < affinity(INDEX, "a barrier")["D21"] < affinity(INDEX, EN)["D21"]


def test_repeating_a_report_changes_little() -> None:
    """The same sentences ten times over must not count as ten reports."""
    once, often = affinity(INDEX, EN), affinity(INDEX, (EN + "\n") * 10)
    assert abs(once["D21"] - often["D21"]) < 1.0


def test_weights_are_likelihood_ratios_against_the_average() -> None:
    """Uncapped ratios must average one over the entries."""
    weights = affinity(INDEX, "port")
    if max(map(abs, weights.values())) < CAP:
        assert math.isclose(sum(map(math.exp, weights.values())) / len(weights), 1.0, rel_tol=1e-4)


@given(st.text())
def test_weights_are_finite_and_capped(report: str) -> None:
    """Every entry must have a weight within the cap, for any text."""
    weights = affinity(INDEX, report)
    assert set(weights) == set(INDEX.ids)
    assert all(-CAP <= weight <= CAP for weight in weights.values())
