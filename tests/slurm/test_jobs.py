"""Jobs of a real Slurm, healthy and broken ones, are diagnosed from what they left behind."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal

import built_in
import msgspec
import pytest

from distkb.catalogue.places import cache_directory
from distkb.diagnosis.batch import diagnose
from distkb.diagnosis.conclude import entry_probabilities
from distkb.diagnosis.guide import Guide
from distkb.diagnosis.model import Diagnosis
from distkb.intake import read

JOBS = Path(__file__).parent / "jobs"
NAMES = sorted(folder.name for folder in JOBS.iterdir() if folder.is_dir())
RIGHT = 62
"""Jobs, of those with a cause, of which the right entry comes first: at least; 63 of 78 today."""

Ending = Literal[
    "none", "time-limit", "scancel", "requeue", "preempt", "node-fail", "execve", "sigkill", "oom-kill", "crash"
]  # fmt: skip
SEEN: dict[Ending, frozenset[str]] = {
    "none": frozenset(),
    "time-limit": frozenset({"ending.time-limit"}),
    "scancel": frozenset({"ending.cancelled"}),
    "requeue": frozenset({"ending.preempted"}),
    "preempt": frozenset({"ending.preempted"}),
    "node-fail": frozenset({"ending.node-failure"}),
    "execve": frozenset({"ending.no-program"}),
    "sigkill": frozenset({"ending.task-killed"}),
    "oom-kill": frozenset({"linux.oom-killer", "ending.task-killed"}),
    "crash": frozenset({"ending.task-killed", "ending.task-crashed"}),
}
ALSO: dict[str, frozenset[str]] = {
    # torchrun, not Slurm, started the process that was killed, and says so
    "46-worker-killed-torchrun": frozenset({"torch.elastic.exit-sigkill"}),
    # no cgroup: Slurm sees a kill only; the user then cancelled what was left
    "50-host-memory-killed": frozenset({"ending.task-killed", "ending.cancelled"}),
}
"""What is printed of an ending where it is not what its kind usually prints."""
TOLD = frozenset().union(*SEEN.values(), *ALSO.values(), {"ending.interrupted"})


class Truth(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of one job."""

    accept: tuple[str, ...]
    """Entries that are right; none where nothing in the program is wrong."""
    ending: Ending
    ending_ranks: tuple[int, ...]
    suspect_ranks: tuple[int, ...]
    world: int
    healthy: bool


TRUE = {name: msgspec.json.decode((JOBS / name / "truth.json").read_bytes(), type=Truth) for name in NAMES}


@functools.cache
def answers() -> dict[str, Diagnosis]:
    """The answer for every job; the catalogue is opened once."""
    catalogue = built_in.catalogue()
    guide = Guide(catalogue)
    return {
        name: diagnose(guide, read(catalogue, [JOBS / name / "artifacts"], cache_dir=cache_directory()))
        for name in NAMES
    }


def first(answer: Diagnosis) -> str:
    """The most probable entry; empty where nothing that was read says that something went wrong."""
    return "" if answer.verdict == "no-evidence" else next(iter(entry_probabilities(answer)))


def row(name: str) -> str:
    """One job as a line of the table."""
    truth, answer = TRUE[name], answers()[name]
    best = [f"{entry} {share:.0%}" for entry, share in list(entry_probabilities(answer).items())[:3]]
    wanted = "/".join(truth.accept) or ("healthy" if truth.healthy else "nothing wrong")
    mark = "+" if first(answer) in truth.accept else " " if not truth.accept else "-"
    return f"{mark} {name:36} {truth.ending:10} {wanted:14} {answer.verdict:11} {', '.join(best)}"


@pytest.mark.slow
def test_the_right_entry_comes_first_in_most_jobs() -> None:
    """Of the jobs with a cause, at least as many are answered right as when they were recorded, but one."""
    asked = [name for name in NAMES if TRUE[name].accept]
    right = [name for name in asked if first(answers()[name]) in TRUE[name].accept]
    print("", *map(row, NAMES), f"{len(right)} of {len(asked)} right", sep="\n")  # noqa: T201 - the table of `pytest -s`
    assert len(right) >= RIGHT


def test_nothing_wrong_is_named() -> None:
    """A cause is named only where it is the right one."""
    named = {name: first(answer) for name, answer in answers().items() if answer.verdict == "named"}
    assert not {name for name, entry in named.items() if entry not in TRUE[name].accept}


@pytest.mark.parametrize("name", [name for name in NAMES if TRUE[name].healthy])
def test_a_healthy_job_is_not_named_as_failing(name: str) -> None:
    """A job that did what it was meant to do is never said to have a cause."""
    assert answers()[name].verdict != "named"


@pytest.mark.parametrize("name", NAMES)
def test_an_ending_is_seen_where_there_was_one(name: str) -> None:
    """What ended the job from outside is observed, as that and as nothing else, and as no single rank's."""
    truth = TRUE[name]
    seen = {o.id: o for o in answers()[name].evidence.observations if o.id in TOLD}
    assert set(seen) == set(ALSO.get(name, SEEN[truth.ending]))
    for one in seen.values():
        assert {quote.rank for quote in one.quotes} <= {None, *truth.ending_ranks}
