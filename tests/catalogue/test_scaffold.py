"""Starting a new entry."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from catalogue_samples import sound

from distkb.catalogue.check import check_directories
from distkb.catalogue.load import load_sources
from distkb.catalogue.scaffold import ScaffoldError, scaffold


def test_every_todo_of_a_new_entry_is_reported_in_its_place(tmp_path: Path) -> None:
    """The skeleton loads, and nothing is wrong with it but that its texts are not written."""
    kb = sound(tmp_path)
    home = scaffold(kb, "D52", "ddp", "new-failure")
    catalogue, problems = load_sources([kb])
    assert problems == []
    assert [entry.id for entry in catalogue.entries] == ["D2", "D10", "D52"]
    found = check_directories([kb])
    assert {problem.message.split(":")[0].split("'")[-1].strip() for problem in found} == {
        "is not written yet",
        "the program is not written yet",
    }
    for name in ("entry.yaml", "repro.py"):
        lines = (home / name).read_text(encoding="utf-8").splitlines()
        todo = {number for number, line in enumerate(lines, 1) if re.search(r"\bTODO\b", line)}
        folded = {number - 1 if lines[number - 2].rstrip().endswith((">-", "|")) else number for number in todo}
        assert {problem.line for problem in found if problem.path == str(home / name)} == folded


def test_the_new_program_is_one(tmp_path: Path) -> None:
    """It parses, takes the switch, and stops with what is missing."""
    script = scaffold(sound(tmp_path), "D52", "ddp", "new-failure") / "repro.py"
    text = script.read_text(encoding="utf-8")
    compile(text, str(script), "exec")
    assert '"--fixed"' in text
    assert 'NotImplementedError("TODO: show the failure of D52' in text


def test_the_schema_is_named_where_there_is_one(tmp_path: Path) -> None:
    """An editor finds the schema from the entry's first line."""
    kb = sound(tmp_path)
    assert not (scaffold(kb, "D52", "ddp", "a") / "entry.yaml").read_text(encoding="utf-8").startswith("#")
    (kb / "schema").mkdir()
    first = (scaffold(kb, "D53", "ddp", "b") / "entry.yaml").read_text(encoding="utf-8").splitlines()[0]
    target = first.split("$schema=")[1]
    assert (kb / "entries/ddp/D53-b" / target).resolve() == (kb / "schema/entry.schema.json").resolve()


@pytest.mark.parametrize(
    ("entry_id", "family", "slug", "message"),
    [
        ("D2", "hangs", "another", "D2 exists already"),
        ("D2", "ddp", "another", "D2 exists already"),
        ("d52", "ddp", "a", "'d52' is no entry id"),
        ("D052", "ddp", "a", "'D052' is no entry id"),
        ("../D5", "ddp", "a", "is no entry id"),
        ("D52", "dpp", "a", "'dpp' is no family"),
        ("D52", "ddp", "A b", "'A b' is no slug"),
        ("D52", "ddp", "../a", "is no slug"),
    ],
)
def test_bad_requests_are_refused(tmp_path: Path, entry_id: str, family: str, slug: str, message: str) -> None:
    """The reason is one line, and nothing is written."""
    kb = sound(tmp_path)
    before = sorted(kb.rglob("*"))
    with pytest.raises(ScaffoldError, match=re.escape(message)):
        scaffold(kb, entry_id, family, slug)
    assert sorted(kb.rglob("*")) == before


def test_an_overlay_may_use_its_own_letters(tmp_path: Path) -> None:
    """Ids of overlays cannot meet future ids of the built-in entries."""
    assert scaffold(sound(tmp_path), "ACME7", "ddp", "a").name == "ACME7-a"


def test_a_missing_knowledge_base_is_refused(tmp_path: Path) -> None:
    """A mistyped directory is not created."""
    with pytest.raises(ScaffoldError, match="is not a directory"):
        scaffold(tmp_path / "missing", "D52", "ddp", "a")
    assert not (tmp_path / "missing").exists()
