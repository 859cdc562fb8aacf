"""Every entry's program fails as the entry says, is diagnosed by what it leaves, and stops failing with the fix."""

from __future__ import annotations

from pathlib import Path

import pytest
from crossfire import unexplained_on
from reproductions import KB, available, catalogue, diagnosed, reproduced, with_program, with_recording

from distkb.catalogue.model import Entry
from distkb.diagnosis.model import Diagnosis
from distkb.repro import verdict
from distkb.repro.outcome import ProgramRun
from distkb.repro.program import find_program

PROGRAMS, RECORDINGS = with_program(), with_recording()

pytestmark = pytest.mark.timeout(500)
"""A run may be slow to start, and wait for another worker that is at it."""

each_program = pytest.mark.parametrize("entry", PROGRAMS, ids=[entry.id for entry in PROGRAMS])
each_recording = pytest.mark.parametrize("entry", RECORDINGS, ids=[entry.id for entry in RECORDINGS])


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A folder that all workers of this test session share."""
    base = tmp_path_factory.getbasetemp()
    worker = hasattr(request.config, "workerinput")
    return (base.parent if worker else base) / "reproductions"


def need(entry: Entry) -> None:
    """Skip where the program cannot run here, and say why."""
    reason = available(entry).reason
    if reason is not None:
        pytest.skip(reason)


def told(run: ProgramRun, diagnosis: Diagnosis) -> str:
    """All that helps to understand a failed test."""
    seen = sorted(o.id for o in diagnosis.evidence.observations)
    return f"{run}\nseen {seen}\n{run.console()[-4000:]}"


@each_program
def test_a_program_on_gloo_pauses_before_it_ends(entry: Entry) -> None:
    """Without the pause torch 2.13 aborts now and then, at the end of a run in which nothing was wrong."""
    program = find_program(entry, [KB])
    assert program is not None
    text = program.script.read_text(encoding="utf-8")
    assert '("gloo"' not in text or "monitored_barrier()" in text


@pytest.mark.torchrun
@each_program
def test_the_broken_program_shows_its_symptom(entry: Entry, shared: Path) -> None:
    """What the entry says comes out of its program, which ends by itself."""
    need(entry)
    run = reproduced(entry, shared, fixed=False)
    judged = verdict.broken(entry, diagnosed(run.artifacts))
    assert run.reason is None, run
    assert not run.timed_out, told(run, judged.diagnosis)
    assert judged.shown, told(run, judged.diagnosis)


@pytest.mark.torchrun
@each_program
def test_the_catalogue_finds_the_entry_by_the_artifacts_alone(entry: Entry, shared: Path) -> None:
    """The entry comes first; where artifacts cannot tell, it is among three and the right step is proposed."""
    need(entry)
    run = reproduced(entry, shared, fixed=False)
    judged = verdict.broken(entry, diagnosed(run.artifacts))
    assert judged.as_stated, f"{judged.complaints} {judged.ranked} next {judged.next}\n{told(run, judged.diagnosis)}"
    assert judged.diagnosis.next is not None


@pytest.mark.torchrun
@each_program
def test_the_fixed_program_ends_well_and_nothing_is_found(entry: Entry, shared: Path) -> None:
    """With the fix the same program ends with exit code 0, and what it leaves holds no failure."""
    need(entry)
    run = reproduced(entry, shared, fixed=True)
    judged = verdict.fixed(entry, diagnosed(run.artifacts), catalogue(), succeeded=run.succeeded)
    assert judged.as_stated, f"{judged.complaints}\n{told(run, judged.diagnosis)}"


@pytest.mark.torchrun
@each_program
def test_no_other_entry_fires_without_a_reason(entry: Entry, shared: Path) -> None:
    """Signatures of other entries that fire on this program are in the table, or at least explained."""
    need(entry)
    run = reproduced(entry, shared, fixed=False)
    new = unexplained_on(entry.id, diagnosed(run.artifacts))
    assert not new, f"unexplained: {new}; see tests/repro/crossfire.yaml, then tests/repro/refresh.py"


@each_recording
def test_what_was_recorded_where_the_hardware_is_leads_to_the_entry(entry: Entry) -> None:
    """The recorded artifacts show the symptom, and the entry comes first."""
    program = find_program(entry, [KB])
    assert program is not None
    judged = verdict.broken(entry, diagnosed(program.recorded))
    seen = sorted(o.id for o in judged.diagnosis.evidence.observations)
    assert judged.as_stated, f"{judged.complaints} {judged.ranked} next {judged.next}\nseen {seen}"
    assert program.spec.hardware is not None


@pytest.mark.parametrize("entry", RECORDINGS, ids=[entry.id for entry in RECORDINGS])
def test_recorded_artifacts_say_where_they_come_from(entry: Entry) -> None:
    """Beside them a README says that they were not recorded on hardware, and from which sources they are."""
    program = find_program(entry, [KB])
    assert program is not None
    assert (program.recorded / "README").read_text(encoding="utf-8").strip()
