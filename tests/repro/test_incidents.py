"""Worked incidents are whole, and their logs lead where the incident says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from recording import anonymous, programs
from reproductions import KB, catalogue, diagnosed

from distkb.catalogue.incident import Hypothesis, StoredIncident, load_incidents
from distkb.locale import LANGUAGES

FOUND, PROBLEMS = load_incidents([KB])
CAUSES = {cause.id for entry in catalogue().entries for cause in entry.causes} | {e.id for e in catalogue().entries}
CASES = [(found, variant) for found in FOUND for variant in (found.incident.variants or (None,))]
each_incident = pytest.mark.parametrize("found", FOUND, ids=[found.incident.id for found in FOUND])


def test_every_incident_can_be_read() -> None:
    """No file of an incident has a problem, and the folder is named like the incident."""
    assert [str(problem) for problem in PROBLEMS] == []
    assert {"I1", "I2"} <= {found.incident.id for found in FOUND}
    for found in FOUND:
        assert found.directory.name == f"{found.incident.id}-{found.incident.slug}"


@each_incident
def test_an_incident_speaks_of_causes_that_exist(found: StoredIncident) -> None:
    """Its answer is among its hypotheses, each of which is a cause or an entry."""
    incident = found.incident
    parts = incident.variants or (incident,)
    for part in parts:
        considered: list[Hypothesis] = list(part.hypotheses)
        assert {one.cause for one in considered} <= CAUSES
        assert part.answer in {one.cause for one in considered}
        right = next(one for one in considered if one.cause == part.answer)
        assert right.speaks_for
        assert not right.speaks_against
        assert sorted(moment.t or 0.0 for moment in part.timeline) == [moment.t or 0.0 for moment in part.timeline]


@pytest.mark.parametrize(("found", "variant"), CASES, ids=[f"{f.incident.id}{v.id if v else ''}" for f, v in CASES])
def test_the_logs_alone_lead_to_the_answer(found: StoredIncident, variant: object) -> None:
    """The first cause is the incident's; of variants that look alike each gets its own answer."""
    from distkb.catalogue.incident import Variant

    part = variant if isinstance(variant, Variant) else None
    answer = diagnosed(found.logs(part.id if part else None))
    wanted = {part.answer, *part.also} if part else {found.incident.answer}
    ranked = [(ranked.cause.id, round(ranked.probability, 2)) for ranked in answer.causes[:5]]
    assert answer.causes[0].cause.id in wanted, ranked


@each_incident
def test_the_lines_that_an_incident_quotes_are_in_its_logs(found: StoredIncident) -> None:
    """What the timeline gives as a line of the log is one."""
    for part in found.incident.variants or (found.incident,):
        folder = found.logs(part.id if part is not found.incident else None)
        text = "\n".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.log"))
        for moment in part.timeline:
            for lang in LANGUAGES:
                for quoted in re.findall(r"`([^`]+: [^`]+|[a-z]+ing [^`]+)`", getattr(moment.what, lang)):
                    assert quoted in text, quoted


@each_incident
def test_recorded_logs_name_no_machine(found: StoredIncident) -> None:
    """No path and no name of the machine that recorded them is in the logs."""
    for path in found.logs().rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert anonymous(text, Path("/nowhere/bin/python")) == text or "site-packages" in text, path
            assert "distkb-probe-" not in text
            assert "/tmp/" not in text  # noqa: S108 - a word to look for


@each_incident
def test_an_incident_can_be_recorded_anew(found: StoredIncident) -> None:
    """The program that left the logs is there, for every variant."""
    made = programs(found)
    assert set(made) == {variant.id for variant in found.incident.variants} or set(made) == {None}
    assert all(program.script.is_file() for program in made.values())
