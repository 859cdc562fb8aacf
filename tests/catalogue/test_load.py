"""Loading knowledge bases: order, overlays, and what survives a fault."""

from __future__ import annotations

from pathlib import Path

from catalogue_samples import DATA, OBSERVATIONS, QUIET, change, overlay, sound

from distkb.catalogue.check import check_directories
from distkb.catalogue.load import load_located, load_sources


def test_the_sound_knowledge_base_has_no_problem() -> None:
    """The sample loads and passes every check."""
    assert check_directories([DATA / "sound"]) == []


def test_records_are_in_human_order() -> None:
    """D2 comes before D10, and an entry's signatures are among all signatures."""
    catalogue, problems = load_sources([DATA / "sound"])
    assert problems == []
    assert [entry.id for entry in catalogue.entries] == ["D2", "D10"]
    assert [signature.id for signature in catalogue.signatures] == ["demo.link-down", "demo.rank-lost"]
    assert [term.id for term in catalogue.terms] == ["rank"]
    assert catalogue.facts[0].values[0].said_as.en == ("hangs", "freezes")


def test_a_broken_entry_is_left_out_and_the_rest_loads(tmp_path: Path) -> None:
    """One fault costs one entry, and what refers to it is not blamed."""
    kb = sound(tmp_path)
    change(kb, "prior: common", "prior: comon")
    catalogue, problems = load_sources([kb])
    assert [entry.id for entry in catalogue.entries] == ["D10"]
    scale = "very-common, common, uncommon, rare, very-rare"
    message = f"'prior' must be one of {scale}, not 'comon': did you mean 'common'?"
    assert [str(problem) for problem in problems] == [f"{kb / QUIET}:36:12: {message}"]
    assert check_directories([kb]) == problems


def test_a_broken_item_of_a_list_is_left_out(tmp_path: Path) -> None:
    """The other observations of the file stay."""
    kb = sound(tmp_path)
    change(kb, "kind: ask", "kind: guess", OBSERVATIONS)
    catalogue, problems = load_sources([kb])
    assert len(problems) == 1
    assert catalogue.steps == ()
    assert len(catalogue.facts) == 1


def test_an_overlay_adds_entries(tmp_path: Path) -> None:
    """Entries of a later directory join those of the first, and may use ids of their own."""
    kb, more = sound(tmp_path), overlay(tmp_path)
    loaded = load_located([kb, more])
    assert loaded.problems == []
    assert [(record.value.id, record.layer) for record in loaded.of("entry")] == [("ACME1", 1), ("D2", 0), ("D10", 0)]
    assert check_directories([kb, more]) == []


def test_an_overlay_may_not_redefine_an_entry(tmp_path: Path) -> None:
    """The first definition stays, and the problem names both places."""
    kb, more = sound(tmp_path), overlay(tmp_path, "D2", "demo.rank-lost")
    catalogue, problems = load_sources([kb, more])
    assert [entry.id for entry in catalogue.entries] == ["D2", "D10"]
    assert [str(problem) for problem in problems] == [
        f"{more / QUIET}:1:5: id 'D2' is already used at {kb / QUIET}:1:5"
    ]


def test_an_overlay_may_not_redefine_a_signature(tmp_path: Path) -> None:
    """The entry loads, its signature of a taken name does not."""
    kb, more = sound(tmp_path), overlay(tmp_path, signature="demo.link-down")
    catalogue, problems = load_sources([kb, more])
    assert len(catalogue.entries) == 3
    assert len(problems) == 1
    assert "id 'demo.link-down' is already used" in problems[0].message


def test_a_finding_and_a_signature_cannot_share_a_name(tmp_path: Path) -> None:
    """Evidence names an observation by its id alone."""
    kb = sound(tmp_path)
    change(kb, "id: logs.one-quiet", "id: demo.link-down", OBSERVATIONS)
    problems = load_sources([kb])[1]
    assert ["already used" in problem.message for problem in problems] == [True]


def test_a_directory_that_holds_nothing_is_a_problem(tmp_path: Path) -> None:
    """A wrong path is said to be one."""
    (tmp_path / "empty").mkdir()
    problems = load_sources([tmp_path / "missing", tmp_path / "empty"])[1]
    assert [problem.message for problem in problems] == [
        "holds no entries, observations or glossary",
        "is not a directory",
    ]


def test_a_file_of_the_wrong_shape_is_a_problem(tmp_path: Path) -> None:
    """A list where fields are expected is reported, whatever the file."""
    kb = sound(tmp_path)
    for name in (QUIET, OBSERVATIONS, "glossary.yaml"):
        (kb / name).write_text("- a\n- b\n", encoding="utf-8")
    catalogue, problems = load_sources([kb])
    assert [entry.id for entry in catalogue.entries] == ["D10"]
    assert len(problems) == 3


def test_unknown_lists_of_a_file_are_named(tmp_path: Path) -> None:
    """A misspelt list is not silently skipped."""
    kb = sound(tmp_path)
    change(kb, "findings:", "finding:", OBSERVATIONS)
    problem = load_sources([kb])[1][0]
    assert problem.message == "unknown field 'finding': this file may hold facts, findings, signatures, steps"


def test_an_entry_that_is_no_yaml_is_known_by_its_directory(tmp_path: Path) -> None:
    """What refers to it is not blamed."""
    kb = sound(tmp_path)
    change(kb, "status: reviewed", "status: [reviewed")
    assert len(check_directories([kb])) == 1


def test_an_overlay_pattern_that_the_scanner_refuses_does_not_load(tmp_path: Path) -> None:
    """One bad pattern of an overlay must not stop the scan of every log."""
    kb, more = sound(tmp_path), overlay(tmp_path)
    file = "entries/hangs/ACME1-quiet-rank/entry.yaml"
    change(more, "pattern: 'acme: rank (?P<rank>[0-9]+)", "pattern: 'acme: rank\\b\\B (?P<rank>[0-9]+)", file)
    catalogue, problems = load_sources([kb, more])
    assert [signature.id for signature in catalogue.signatures] == ["demo.link-down", "demo.rank-lost"]
    assert ["the line scanner refuses the pattern" in problem.message for problem in problems] == [True]
