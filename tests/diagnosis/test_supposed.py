"""What supposes that a run hangs counts by what is known of that."""

from __future__ import annotations

import built_in
import pytest

from distkb.diagnosis.batch import diagnose
from distkb.diagnosis.guide import Guide
from distkb.diagnosis.session import Answered, EvidenceAdded, Session
from distkb.diagnosis.view import view
from distkb.evidence.observation import Evidence, Observation, Quote

WORDS = Observation(
    id="run.last-words-alone", source="log", quotes=(Quote(text="flushing the queue"),), supposes="symptom=hang"
)
HANGS = Observation(id="symptom=hang", source="log", supposes="symptom=hang")
OOM = Observation(id="cuda.oom", source="log", quotes=(Quote(text="CUDA out of memory"),))


@pytest.fixture(scope="module")
def guide() -> Guide:
    """The built-in catalogue."""
    return Guide(built_in.catalogue())


def known(guide: Guide, *observations: Observation, symptom: str = "") -> dict[str, Observation]:
    """What counts after these were read and the question was answered."""
    events = [EvidenceAdded(label="logs", evidence=Evidence(observations=observations, bytes_read=9))]
    answers = [Answered(question="symptom", values=(symptom,))] if symptom else []
    return {one.id: one for one in guide.known((*events, *answers)).evidence.observations}


def test_it_counts_in_part_until_the_question_is_answered(guide: Guide) -> None:
    """In full where the run hangs, not at all where it does something else, and less while nobody has said so."""
    assert 0.0 < known(guide, WORDS, HANGS)[WORDS.id].certainty < 1.0
    full = known(guide, WORDS, HANGS, symptom="hang")
    assert (full[WORDS.id].certainty, full[WORDS.id].supposes) == (1.0, "")
    assert WORDS.id not in known(guide, WORDS, HANGS, symptom="slow")


def test_it_does_not_count_beside_a_failure(guide: Guide) -> None:
    """A run that failed in a way that is told did not hang."""
    assert known(guide, WORDS, HANGS, OOM).keys() & {WORDS.id, HANGS.id} == set()


def test_nothing_is_called_wrong_and_the_question_comes_first(guide: Guide) -> None:
    """A supposition names no cause; whether it holds is asked before anything else."""
    evidence = Evidence(observations=(WORDS, HANGS), bytes_read=9)
    found = diagnose(guide, evidence)
    assert found.verdict == "no-evidence"
    assert found.next is not None
    assert found.next.step is not None
    assert found.next.step.id == "ask.symptom"
    shown = view(Session(id="", events=(EvidenceAdded(label="logs", evidence=evidence),)), guide)
    assert shown.diagnosis.verdict == "no-evidence"
