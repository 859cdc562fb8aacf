"""The answer to what was given at once: verdict, fix and next step."""

from __future__ import annotations

import msgspec
import pytest
from diagnosis_build import ask, cause, entry, guide, seen, signature
from hypothesis import given
from hypothesis import strategies as st

from distkb.catalogue.model import Finding, Likelihood, Role, Step, Text
from distkb.diagnosis.batch import diagnose
from distkb.diagnosis.conclude import entry_probabilities
from distkb.diagnosis.guide import Guide
from distkb.diagnosis.information import make_row
from distkb.evidence.observation import Evidence, Observation

STACK = Finding(id="stacks.odd", means=Text(en="odd", ko="odd"), background="sometimes")


def two_causes(*steps: Step) -> Guide:
    """Two causes that only the stacks tell apart."""
    return guide(
        entry("D1", cause("D1.a", {"stacks.odd": "always", "both.line": "usually"})),
        entry("D2", cause("D2.a", {"stacks.odd": "never", "both.line": "usually"})),
        signatures=(signature("both.line"),),
        findings=(STACK,),
        steps=steps,
    )


@given(st.floats(0.001, 0.999))
def test_information_is_never_negative_and_never_more_than_there_is_to_know(p: float) -> None:
    """The expected gain lies between 0 and the entropy of the belief."""
    t = two_causes()
    gain = make_row(t.table, ("stacks.odd",)).gain_bits([p, 1.0 - p, 0.0])
    assert 0.0 <= gain <= 1.0


def test_causes_that_only_share_a_line_are_not_told_apart_with_confidence() -> None:
    """The verdict is not `named`, and something to do is proposed: what would tell, or the fix if that costs less."""
    t = two_causes(msgspec.structs.replace(ask("stacks", "stacks.odd", seconds=60), kind="collect"))
    answer = diagnose(t, Evidence(observations=(seen("both.line"),)))
    assert answer.verdict in ("leading", "undecided")
    assert answer.next is not None
    assert answer.next.kind in ("collect", "fix")


def test_a_named_cause_comes_with_its_fix_and_the_advice_to_try_it() -> None:
    """With the evidence complete, the next step is the fix."""
    t = two_causes()
    answer = diagnose(t, Evidence(observations=(seen("both.line"), seen("stacks.odd"))))
    assert answer.verdict == "named"
    assert answer.causes[0].cause.id == "D1.a"
    assert answer.fix is not None
    assert answer.fix.id == "D1.a.1"
    assert answer.next is not None
    assert answer.next.kind == "fix"


def test_answers_alone_name_nothing() -> None:
    """However well the facts fit, a cause is named only when something of it was seen."""
    t = guide(
        entry("D1", cause("D1.a", {"symptom=slow": "always"})), entry("D2", cause("D2.a", {"symptom=slow": "never"}))
    )
    answer = diagnose(t, Evidence(observations=(Observation(id="symptom=slow", source="fact"),)))
    assert answer.verdict == "leading"


@pytest.mark.parametrize("role", ["primary", "context"])
def test_one_symptom_that_a_person_describes_names_nothing(role: Role) -> None:
    """Two described symptoms of one cause name it, one leaves it probable; so also where it is the failure itself."""
    words = ("flat.loss", "odd.loss")
    t = guide(
        entry("D1", cause("D1.a", dict.fromkeys(words, "always"))),
        entry("D2", cause("D2.a", dict.fromkeys(words, "never"))),
        signatures=tuple(msgspec.structs.replace(signature(word, role), where=("report",)) for word in words),
    )
    told = [msgspec.structs.replace(seen(word), source="report") for word in words]
    slow = Observation(id="symptom=slow", source="report")
    assert diagnose(t, Evidence(observations=(slow, told[0]))).verdict == "leading"
    assert diagnose(t, Evidence(observations=(slow, *told))).verdict == "named"


def test_nothing_read_and_nothing_wrong_are_no_diagnosis() -> None:
    """Without evidence, or with lines that only say how the run is set up, no cause is put forward."""
    t = guide(entry("D1", cause("D1.a", {"version": "always"})), signatures=(signature("version", "context"),))
    assert diagnose(t, Evidence()).verdict == "no-evidence"
    assert diagnose(t, Evidence(observations=(seen("version"),))).verdict == "no-evidence"


@pytest.mark.parametrize(
    ("background", "shown", "verdict"), [("sometimes", "often", "undecided"), ("rarely", "sometimes", "named")]
)
def test_what_most_runs_show_puts_no_entry_forward(background: Likelihood, shown: Likelihood, verdict: str) -> None:
    """Beside a failure that is nobody's, an entry that only a common thing speaks for is not put forward."""
    common = Finding(id="run.common", means=Text(en="m", ko="m"), background=background, telling=False)
    odd = Finding(id="run.odd", means=Text(en="m", ko="m"), background="sometimes")
    t = guide(entry("D1", cause("D1.a", {"run.common": shown})), entry("D2", cause("D2.a", {})), findings=(common, odd))
    both = Evidence(observations=(seen("run.common"), seen("run.odd")))
    assert diagnose(t, both).verdict == verdict


def test_entries_are_ranked_by_the_sum_of_their_causes() -> None:
    """Two half-probable causes of one entry come before one cause of another."""
    t = guide(entry("D1", cause("D1.a", {}), cause("D1.b", {})), entry("D2", cause("D2.a", {}, "uncommon")))
    totals = entry_probabilities(diagnose(t, Evidence()))
    assert list(totals) == ["D1", "D2"]
    assert totals["D1"] == pytest.approx(2 * totals["D2"])


def test_what_a_tool_refuses_at_the_start_is_the_cause_unless_the_run_trained() -> None:
    """A refused configuration is stated by itself; beside training steps it was not the one, and counts for nothing."""
    refused = Finding(
        id="config.refused",
        means=Text(en="refused", ko="refused"),
        severity="error",
        background="never",
        entry="D1.a",
        refuted_by=("run.steps",),
    )
    trained = Finding(id="run.steps", means=Text(en="steps", ko="steps"), telling=False, background="sometimes")
    t = guide(entry("D1", cause("D1.a", {})), entry("D2", cause("D2.a", {})), findings=(refused, trained))
    alone = diagnose(t, Evidence(observations=(seen("config.refused"),)))
    assert (alone.verdict, alone.causes[0].cause.id) == ("named", "D1.a")
    beside = diagnose(t, Evidence(observations=(seen("config.refused"), seen("run.steps"))))
    assert beside.verdict not in ("named", "leading")
