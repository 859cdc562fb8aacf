"""What the programs left when they were run last is diagnosed as their entries say, without running one."""

from __future__ import annotations

from pathlib import Path

import pytest
from crossfire import unexplained_on
from reproductions import diagnosed, with_program

from distkb.catalogue.model import Entry
from distkb.repro import verdict
from replay import FOLDER, restored

PROGRAMS = with_program()


@pytest.mark.parametrize("entry", PROGRAMS, ids=[entry.id for entry in PROGRAMS])
def test_a_recorded_run_leads_to_its_entry(entry: Entry, tmp_path: Path) -> None:
    """Its symptom shows, the entry comes first or is reached, and nothing of other entries fires without a reason."""
    run = restored(entry, tmp_path)
    if run is None:
        pytest.skip("not recorded with this text and this torch: python tests/repro/refresh.py")
    judged = verdict.broken(entry, diagnosed(run.artifacts))
    seen = sorted(o.id for o in judged.diagnosis.evidence.observations)
    told = f"{judged.complaints} {judged.ranked} next {judged.next}\nseen {seen}"
    assert judged.shown, told
    assert judged.as_stated, told
    assert judged.diagnosis.next is not None
    assert not unexplained_on(entry.id, judged.diagnosis), told


def test_recordings_belong_to_programs_and_are_small() -> None:
    """An archive without an entry is left over; one of more than 64 KiB would make the repository heavy."""
    names = {entry.id for entry in PROGRAMS}
    assert {path.name.partition(".")[0] for path in FOLDER.iterdir()} <= names
    assert [path.name for path in FOLDER.iterdir() if path.stat().st_size > 1 << 16] == []
