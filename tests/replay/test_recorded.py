"""Logs of real and rebuilt failures, in the styles that people's own programs print, are diagnosed or left open."""

from __future__ import annotations

import functools
from pathlib import Path

import built_in
import msgspec
import pytest

from distkb.catalogue.places import cache_directory
from distkb.diagnosis.batch import diagnose
from distkb.diagnosis.conclude import entry_probabilities
from distkb.diagnosis.model import Diagnosis
from distkb.intake import read

RECORDED = Path(__file__).parent / "recorded"


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of one set of logs."""

    entry: str
    """The entry of the real cause."""
    first: int
    """The entry is among that many first ones."""
    named: bool
    """Whether these logs alone tell enough to name the cause."""
    made: str
    """Where the logs come from, and what went wrong."""


CASES = sorted(folder.name for folder in RECORDED.iterdir())

pytestmark = pytest.mark.parametrize("name", CASES)


@functools.cache
def diagnosed(name: str) -> tuple[Case, Diagnosis]:
    """What is known of a set of logs, and the answer from the logs alone."""
    case = msgspec.json.decode((RECORDED / name / "case.json").read_bytes(), type=Case)
    evidence = read(built_in.catalogue(), [RECORDED / name / "logs"], cache_dir=cache_directory())
    return case, diagnose(built_in.guide(), evidence)


def test_the_real_cause_is_among_the_first(name: str) -> None:
    """The entry of the real cause comes first, or among the first three where the logs leave it open."""
    case, answer = diagnosed(name)
    ranked = list(entry_probabilities(answer).items())[:5]
    seen = sorted(o.id for o in answer.evidence.observations)
    assert case.entry in [entry for entry, _ in ranked[: case.first]], f"ranked {ranked}, seen {seen}"


def test_nothing_wrong_is_named(name: str) -> None:
    """A cause is named only where it is the real one and the logs tell it; else there is a next step to take."""
    case, answer = diagnosed(name)
    best = next(iter(entry_probabilities(answer)))
    if answer.verdict == "named":
        assert best == case.entry
    assert not case.named or answer.verdict == "named", (answer.verdict, best)
    assert answer.next is not None
