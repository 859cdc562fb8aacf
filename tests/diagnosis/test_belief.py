"""The belief over causes."""

from __future__ import annotations

import math
from typing import get_args

import pytest
from diagnosis_build import SYMPTOM, cause, entry, seen, signature, table
from hypothesis import given
from hypothesis import strategies as st

from distkb.catalogue.model import Finding, Likelihood, Prior, Text
from distkb.diagnosis.belief import believe
from distkb.diagnosis.information import entropy_bits
from distkb.diagnosis.likelihood import OTHER, SETTLED
from distkb.evidence.observation import Evidence, Observation

WORDS: tuple[Likelihood, ...] = get_args(Likelihood)


def test_without_evidence_the_posterior_is_the_prior() -> None:
    """No observation moves nothing."""
    t = table(entry("D1", cause("D1.a", {}, "very-common")), entry("D2", cause("D2.a", {}, "rare")))
    posterior = believe(t, Evidence()).posterior
    assert posterior == pytest.approx({h.id: h.prior for h in t.hypotheses})


def test_splitting_a_cause_does_not_make_its_entry_likelier() -> None:
    """An entry with three common causes weighs as much as an entry with one."""
    fine = entry("D1", cause("D1.a", {}), cause("D1.b", {}), cause("D1.c", {}))
    coarse = entry("D2", cause("D2.a", {}))
    posterior = believe(table(fine, coarse), Evidence()).posterior
    assert sum(posterior[f"D1.{x}"] for x in "abc") == pytest.approx(posterior["D2.a"])


def test_a_primary_signature_names_its_cause() -> None:
    """One line that only one failure prints outweighs every prior."""
    t = table(
        entry("D1", cause("D1.a", {"its.line": "usually"}, "very-rare")),
        entry("D2", cause("D2.a", {}, "very-common")),
        signatures=(signature("its.line"),),
    )
    assert believe(t, Evidence(observations=(seen("its.line"),))).posterior["D1.a"] > 0.6


def test_repeated_lines_of_one_group_count_once() -> None:
    """Three wordings of one timeout move the belief as far as one of them."""
    names = ("t.one", "t.two", "t.three")
    t = table(
        entry("D1", cause("D1.a", dict.fromkeys(names, "usually"))),
        entry("D2", cause("D2.a", {})),
        signatures=tuple(signature(n, "collateral", "sometimes", group="timeout") for n in names),
    )
    one = believe(t, Evidence(observations=(seen("t.one"),))).posterior["D1.a"]
    all_three = believe(t, Evidence(observations=tuple(seen(n) for n in names))).posterior["D1.a"]
    assert all_three == pytest.approx(one)


def test_an_echo_never_outweighs_the_primary_error() -> None:
    """Many echoes that fit D2 leave D1, whose own error was printed, in front."""
    echoes = tuple(signature(f"echo.{i}", "collateral", "rarely") for i in range(8))
    t = table(
        entry("D1", cause("D1.a", {"own.error": "often"})),
        entry("D2", cause("D2.a", {e.id: "always" for e in echoes})),
        signatures=(signature("own.error"), *echoes),
    )
    observed = (seen("own.error"), *(seen(e.id) for e in echoes))
    posterior = believe(t, Evidence(observations=observed)).posterior
    assert posterior["D1.a"] > posterior["D2.a"]


def test_the_rank_that_failed_first_is_the_suspect() -> None:
    """Of two errors on two ranks the earlier one decides."""
    t = table(
        entry("D1", cause("D1.a", {"early": "usually"})),
        entry("D2", cause("D2.a", {"late": "usually"})),
        signatures=(signature("early"), signature("late")),
    )
    observed = (seen("late", rank=0, time=20.0), seen("early", rank=1, time=10.0))
    posterior = believe(t, Evidence(observations=observed)).posterior
    assert posterior["D1.a"] > 2 * posterior["D2.a"]


def test_other_wins_when_nothing_fits() -> None:
    """A finding that every cause rules out is put down to a cause outside the catalogue."""
    strange = Finding(id="logs.strange", means=Text(en="x", ko="x"), background="often")
    t = table(
        entry("D1", cause("D1.a", {"logs.strange": "never"})),
        entry("D2", cause("D2.a", {"logs.strange": "never"})),
        findings=(strange,),
    )
    posterior = believe(t, Evidence(observations=(seen("logs.strange"),))).posterior
    assert max(posterior, key=posterior.__getitem__) == OTHER


def test_a_missing_message_speaks_against_the_cause_only_when_the_logs_are_complete() -> None:
    """Silence counts in proportion to how much of the output was read."""
    t = table(
        entry("D1", cause("D1.a", {"its.line": "always"})),
        entry("D2", cause("D2.a", {})),
        signatures=(signature("its.line"),),
    )
    nothing = believe(t, Evidence()).posterior["D1.a"]
    complete = believe(t, Evidence(log_coverage=0.9)).posterior["D1.a"]
    assert complete < nothing


def test_an_uncertain_fact_moves_less_than_a_given_one() -> None:
    """What was inferred from words is trusted less than what was said."""
    t = table(entry("D1", cause("D1.a", {"symptom=hang": "always"})), entry("D2", cause("D2.a", {})))
    said = Observation(id="symptom=hang", source="fact")
    guessed = Observation(id="symptom=hang", source="report", certainty=0.5)
    given_fact = believe(t, Evidence(observations=(said,))).posterior["D1.a"]
    inferred = believe(t, Evidence(observations=(guessed,))).posterior["D1.a"]
    prior = believe(t, Evidence()).posterior["D1.a"]
    assert prior < inferred < given_fact


def test_an_observation_unknown_to_the_catalogue_is_ignored() -> None:
    """An id of another catalogue version changes nothing and raises nothing."""
    t = table(entry("D1", cause("D1.a", {})))
    assert believe(t, Evidence(observations=(seen("no.such.thing"),))).posterior == believe(t, Evidence()).posterior


@given(
    stated=st.lists(st.tuples(st.integers(0, 5), st.sampled_from(WORDS)), max_size=12),
    observed=st.lists(st.tuples(st.integers(0, 5), st.floats(0, 1), st.booleans()), max_size=8),
    coverage=st.floats(0, 0.95),
)
def test_the_posterior_is_a_probability_whatever_is_seen(
    stated: list[tuple[int, Likelihood]], observed: list[tuple[int, float, bool]], coverage: float
) -> None:
    """It sums to 1, is finite, and no cause is ever ruled out or made certain."""
    signatures = tuple(signature(f"s.{i}", "primary" if i % 2 else "collateral") for i in range(6))
    evidence = {f"s.{i}": word for i, word in stated}
    t = table(
        entry("D1", cause("D1.a", evidence)),
        entry("D2", cause("D2.a", {"symptom=hang": "usually"})),
        signatures=signatures,
    )
    observations = tuple(seen(f"s.{i}", certainty=c, present=p) for i, c, p in observed)
    posterior = believe(t, Evidence(observations=observations, log_coverage=coverage)).posterior
    assert math.isclose(sum(posterior.values()), 1.0)
    assert all(0.0 < p < 1.0 for p in posterior.values())


@given(st.lists(st.tuples(st.sampled_from(["hang", "crash", "slow"]), st.sampled_from(WORDS)), max_size=5))
def test_every_fact_has_a_distribution_under_every_cause(stated: list[tuple[str, Likelihood]]) -> None:
    """Whatever an entry states, the probabilities of a fact's values sum to 1."""
    t = table(entry("D1", cause("D1.a", {f"symptom={v}": word for v, word in stated})))
    for h in t.hypotheses:
        distribution = t.fact_distribution("symptom", h.id)
        assert math.isclose(sum(distribution.values()), 1.0)
        assert set(distribution) == {v.value for v in SYMPTOM.values}


@pytest.mark.parametrize("prior", ["very-common", "very-rare"])
def test_an_error_in_the_code_settles_its_cause(prior: Prior) -> None:
    """However rare its cause, and whatever was guessed beside it; what a person answers still counts.

    That the run failed in another way than the error makes it fail counts too, as far as it is sure.
    """
    bug = Finding(id="code.bug", means=Text(en="x", ko="x"), severity="error", entry="D1.a", background="never")
    t = table(
        entry("D1", cause("D1.a", {"symptom=hang": "never"}, prior)),
        entry("D2", cause("D2.a", {"symptom=hang": "always"}, "very-common")),
        findings=(bug,),
    )
    found = Observation(id="code.bug", source="probe")
    answered = Observation(id="symptom=hang", source="answer")
    guessed, shown = (Observation(id="symptom=hang", source="log", certainty=sure) for sure in (0.3, 0.9))
    alone = believe(t, Evidence(observations=(found,))).posterior
    assert alone["D1.a"] / (1 - alone["D1.a"]) > 0.9 * SETTLED
    beside = believe(t, Evidence(observations=(found, guessed))).posterior["D1.a"]
    assert beside > 0.5
    assert believe(t, Evidence(observations=(found, shown))).posterior["D1.a"] < beside
    assert believe(t, Evidence(observations=(found, answered))).posterior["D1.a"] < beside


def test_how_the_run_ended_counts_against_an_error_in_the_code() -> None:
    """Where a run came to its end, an error that makes runs crash is not what went wrong with it."""
    bug = Finding(id="code.bug", means=Text(en="x", ko="x"), severity="error", entry="D1.a", background="never")
    came = Finding(id="run.ended", means=Text(en="x", ko="x"), excludes=("symptom=crash",), background="sometimes")
    t = table(
        entry("D1", cause("D1.a", {"symptom=crash": "always"})),
        entry("D2", cause("D2.a", {"symptom=slow": "always"})),
        findings=(bug, came),
    )
    found, ended = Observation(id="code.bug", source="probe"), Observation(id="run.ended", source="log")
    alone, beside = (believe(t, Evidence(observations=seen)).posterior["D1.a"] for seen in ((found,), (found, ended)))
    assert beside / (1 - beside) < 0.2 * alone / (1 - alone)


def test_an_error_in_the_code_settles_only_the_cause_that_it_points_to() -> None:
    """Where a second cause may show the same error, what was seen beside it decides between the two as elsewhere."""
    bug = Finding(id="code.bug", means=Text(en="x", ko="x"), severity="error", entry="D1.a", background="never")
    t = table(
        entry("D1", cause("D1.a", {})),
        entry("D2", cause("D2.a", {"code.bug": "always", "s.trained": "never"})),
        signatures=(signature("s.trained"),),
        findings=(bug,),
    )
    found = Observation(id="code.bug", source="probe")
    alone = believe(t, Evidence(observations=(found,))).posterior
    beside = believe(t, Evidence(observations=(found, seen("s.trained")))).posterior
    assert beside["D2.a"] / beside["D1.a"] < 0.5 * alone["D2.a"] / alone["D1.a"]


def test_entropy_of_a_fair_coin_is_one_bit() -> None:
    """The unit of information is the bit."""
    assert entropy_bits([0.5, 0.5]) == pytest.approx(1.0)


def test_a_finding_speaks_against_causes_of_the_values_that_it_excludes() -> None:
    """What leaves no room for a value of a fact moves causes by what is left of theirs, and silent causes hardly."""
    excluding = Finding(id="f.no-hang", means=Text(en="m", ko="m"), excludes=("symptom=hang",), telling=False)
    t = table(
        entry("D1", cause("D1.a", {"symptom=hang": "always"})),
        entry("D2", cause("D2.a", {"symptom=crash": "always"})),
        entry("D3", cause("D3.a", {})),
        findings=(excluding,),
    )
    before, after = believe(t, Evidence()).posterior, believe(t, Evidence(observations=(seen("f.no-hang"),))).posterior
    assert after["D1.a"] / before["D1.a"] < 0.5 * after["D3.a"] / before["D3.a"]
    assert after["D2.a"] / before["D2.a"] > after["D3.a"] / before["D3.a"]
