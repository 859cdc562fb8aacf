"""Every entry's program fails as the entry says, is diagnosed from its logs alone, and stops failing with the fix."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from repro_runner import KB, Run, entries_with_repro, run

from distkb.catalogue.load import load_sources
from distkb.catalogue.model import Entry
from distkb.diagnosis.diagnose import diagnose, entry_probabilities
from distkb.diagnosis.likelihood import LikelihoodTable
from distkb.diagnosis.model import Diagnosis
from distkb.intake import read

ENTRIES = entries_with_repro()

TORCH_EXIT_RACE = "terminate called without an active exception"
"""What torch 2.13.0 on CPU prints when one of its threads outlives the interpreter, after `destroy_process_group` and
the last line of the program: about once in a hundred exits, on a loaded machine. The run is repeated, twice at most."""

pytestmark = [pytest.mark.torchrun, pytest.mark.parametrize("entry", ENTRIES, ids=[e.id for e in ENTRIES])]


@functools.cache
def diagnosed(logs: Path) -> Diagnosis:
    """The answer for a folder of logs, with the built-in catalogue."""
    catalogue, _ = load_sources([KB])
    table = LikelihoodTable(catalogue.entries, catalogue.signatures, catalogue.findings, catalogue.facts)
    return diagnose(table, catalogue.steps, read(catalogue, [logs]))


def outputs(result: Run) -> str:
    """All that was printed, for the message of a failed test."""
    return (result.logs / "console.log").read_text(errors="replace")[-4000:]


def test_the_broken_program_is_diagnosed_from_its_logs(entry: Entry, tmp_path: Path) -> None:
    """The run fails, shows the entry's own symptom, and the entry comes first (or among three, where it says so)."""
    assert entry.repro is not None
    result = run(entry, tmp_path / "logs", fixed=False)
    answer = diagnosed(result.logs)
    shown = {o.id for o in answer.evidence.observations if o.present}
    assert shown & set(entry.repro.shows), f"shows {sorted(shown)}\n{outputs(result)}"
    ranked = list(entry_probabilities(answer).items())[:5]
    best = 1 if entry.repro.first == "first" else 3
    assert entry.id in [name for name, _ in ranked[:best]], f"ranked {ranked}, seen {sorted(shown)}\n{outputs(result)}"
    if entry.repro.first != "first":
        assert answer.verdict != "named" or ranked[0][0] == entry.id
        assert answer.next is not None


def test_the_fixed_program_ends_well_and_nothing_is_found(entry: Entry, tmp_path: Path) -> None:
    """With the fix the same program ends with exit code 0, and its logs hold no failure."""
    result = run(entry, tmp_path / "logs", fixed=True)
    for again in ("again", "and-again"):
        if result.returncode and TORCH_EXIT_RACE in outputs(result):
            result = run(entry, tmp_path / again, fixed=True)
    assert result.returncode == 0, outputs(result)
    answer = diagnosed(result.logs)
    assert answer.verdict == "no-evidence", [(o.id, o.quotes[:1]) for o in answer.evidence.observations]
