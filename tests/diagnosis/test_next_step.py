"""The choice of the next step, and the verdict."""

from __future__ import annotations

import pytest
from diagnosis_build import ask, cause, entry, seen, signature, table
from hypothesis import given
from hypothesis import strategies as st

from distkb.catalogue.model import Finding, Text
from distkb.diagnosis.belief import believe
from distkb.diagnosis.diagnose import diagnose, entry_probabilities
from distkb.diagnosis.likelihood import LikelihoodTable
from distkb.diagnosis.next_step import expected_gain_bits, next_step
from distkb.evidence.observation import Evidence, Observation

STACK = Finding(id="stacks.odd", means=Text(en="odd", ko="odd"), background="sometimes")


def two_causes() -> LikelihoodTable:
    """Two causes that only the stacks tell apart."""
    return table(
        entry("D1", cause("D1.a", {"stacks.odd": "always", "both.line": "usually"})),
        entry("D2", cause("D2.a", {"stacks.odd": "never", "both.line": "usually"})),
        signatures=(signature("both.line"),),
        findings=(STACK,),
    )


def test_the_step_that_tells_the_causes_apart_is_chosen() -> None:
    """A question that both causes answer alike is not asked."""
    t = two_causes()
    steps = (ask("useless", "symptom"), ask("stacks", "stacks.odd", seconds=60))
    chosen = next_step(t, believe(t, Evidence()).posterior, steps, known=())
    assert chosen is not None
    assert chosen.step is not None
    assert chosen.step.id == "stacks"
    assert 0.5 < chosen.gain_bits <= 1.5


def test_what_is_known_is_not_asked_again() -> None:
    """A step whose observations were all seen is left out, also when a fact was answered."""
    t = two_causes()
    posterior = believe(t, Evidence()).posterior
    assert next_step(t, posterior, (ask("stacks", "stacks.odd"),), known=("stacks.odd",)) is None
    assert next_step(t, posterior, (ask("symptom", "symptom"),), known=("symptom=hang",)) is None


def test_a_cheap_step_beats_a_dear_one_of_the_same_gain() -> None:
    """Of two equal steps the quicker is chosen."""
    t = two_causes()
    steps = (ask("slow", "stacks.odd", seconds=600), ask("quick", "stacks.odd", seconds=5))
    chosen = next_step(t, believe(t, Evidence()).posterior, steps, known=())
    assert chosen is not None
    assert chosen.step is not None
    assert chosen.step.id == "quick"


@given(st.floats(0.001, 0.999))
def test_information_is_never_negative_and_never_more_than_there_is_to_know(p: float) -> None:
    """The expected gain lies between 0 and the entropy of the belief."""
    t = two_causes()
    belief = {"D1.a": p, "D2.a": 1.0 - p}
    gain = expected_gain_bits(t, belief, ["stacks.odd"])
    assert 0.0 <= gain <= 1.0


def test_causes_that_only_share_a_line_are_not_told_apart_with_confidence() -> None:
    """The verdict is not `named`, and the next step is the one that would tell."""
    t = two_causes()
    answer = diagnose(t, (ask("stacks", "stacks.odd", seconds=60),), Evidence(observations=(seen("both.line"),)))
    assert answer.verdict in ("leading", "undecided")
    assert answer.next is not None
    assert answer.next.step is not None
    assert answer.next.step.id == "stacks"


def test_a_named_cause_comes_with_its_fix_and_the_advice_to_try_it() -> None:
    """With the evidence complete, the next step is the fix."""
    t = two_causes()
    answer = diagnose(t, (), Evidence(observations=(seen("both.line"), seen("stacks.odd"))))
    assert answer.verdict == "named"
    assert answer.causes[0].cause.id == "D1.a"
    assert answer.fix is not None
    assert answer.fix.id == "D1.a.1"
    assert answer.next is not None
    assert answer.next.kind == "fix"


def test_answers_alone_name_nothing() -> None:
    """However well the facts fit, a cause is named only when something of it was seen."""
    t = table(
        entry("D1", cause("D1.a", {"symptom=slow": "always"})), entry("D2", cause("D2.a", {"symptom=slow": "never"}))
    )
    answer = diagnose(t, (), Evidence(observations=(Observation(id="symptom=slow", source="fact"),)))
    assert answer.verdict == "leading"


def test_nothing_read_and_nothing_wrong_are_no_diagnosis() -> None:
    """Without evidence, or with lines that only say how the run is set up, no cause is put forward."""
    t = table(entry("D1", cause("D1.a", {"version": "always"})), signatures=(signature("version", "context"),))
    assert diagnose(t, (), Evidence()).verdict == "no-evidence"
    assert diagnose(t, (), Evidence(observations=(seen("version"),))).verdict == "no-evidence"


def test_entries_are_ranked_by_the_sum_of_their_causes() -> None:
    """Two half-probable causes of one entry come before one cause of another."""
    t = table(entry("D1", cause("D1.a", {}), cause("D1.b", {})), entry("D2", cause("D2.a", {}, "uncommon")))
    totals = entry_probabilities(diagnose(t, (), Evidence()))
    assert list(totals) == ["D1", "D2"]
    assert totals["D1"] == pytest.approx(2 * totals["D2"])
