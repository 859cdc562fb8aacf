"""Failing programs that others wrote, with what they printed: what is said of them as certain is right."""

from __future__ import annotations

import built_in
import pytest
import recorded_programs
from recorded_programs import PROGRAMS, Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def rows() -> dict[str, list[Place]]:
    """The answers on all programs."""
    return recorded_programs.places(built_in.catalogue(), built_in.index(), built_in.guide())


def test_the_programs_are_of_causes_that_the_catalogue_has() -> None:
    """A case whose cause is gone would count as a wrong answer for ever."""
    causes = {cause.id for entry in built_in.catalogue().entries for cause in entry.causes}
    entries = {entry.id for entry in built_in.catalogue().entries}
    for folder in PROGRAMS.iterdir():
        case = recorded_programs.case_of(folder)
        assert case.cause in causes, folder
        assert entries.issuperset(case.accept), folder


@pytest.mark.parametrize("mode", ["logs", "logs and script", "logs and stacks", "all"])
def test_what_is_named_is_right(rows: dict[str, list[Place]], mode: str) -> None:
    """`The cause is` is said of a wrong entry in at most one case of five."""
    named = [place.rank == 1 for place in rows[mode] if place.verdict == "named"]
    assert named
    assert sum(named) >= 0.8 * len(named)


def test_words_and_scripts_bring_the_cause_near(rows: dict[str, list[Place]]) -> None:
    """With the script the cause is among the first three in most programs."""
    assert sum(place.rank <= 3 for place in rows["logs and script"]) > 0.8 * len(rows["logs and script"])
