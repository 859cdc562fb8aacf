"""What a cause shows is said where it belongs: by itself, by its traits, by its entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catalogue_samples import QUIET, change, problems, sound

from distkb.catalogue.load import load_sources

if TYPE_CHECKING:
    from pathlib import Path

TRAITS = """\
traits:
  - id: freezes
    means: The run freezes.
    evidence:
      usually: [symptom=hang, demo.rank-lost]
      never: [symptom=crash]
  - id: speaks-up
    means: Somebody says so.
    evidence:
      sometimes: [demo.link-down]
"""
CUES = "      always: [symptom=hang]\n      usually: [logs.one-quiet]\n      often: [demo.rank-lost]\n"


def table(kb: Path) -> dict[str, str]:
    """Return what the cause of the quiet rank shows: observation and word."""
    catalogue, faults = load_sources([kb])
    assert not faults
    (cause,) = next(entry for entry in catalogue.entries if entry.id == "D2").causes
    return dict(cause.cues)


def with_traits(kb: Path, cause: str, entry: str = "", cues: str = CUES) -> None:
    """Write the traits, and what the cause and its entry say."""
    (kb / "traits.yaml").write_text(TRAITS, encoding="utf-8")
    change(kb, f"    evidence:\n{CUES}", f"{cause}    evidence:\n{cues}", QUIET)
    change(kb, "causes:\n", f"{entry}causes:\n", QUIET)


def test_what_stands_nearest_counts(tmp_path: Path) -> None:
    """The cause's own word for a fact holds for all of its values; traits and entry add what it does not speak of."""
    kb = sound(tmp_path)
    entry = "evidence:\n  rarely: [demo.link-down, demo.rank-lost]\n"
    with_traits(kb, "    traits: [freezes]\n", entry, "      always: [symptom=hang]\n")
    assert table(kb) == {"symptom=hang": "always", "demo.rank-lost": "usually", "demo.link-down": "rarely"}


def test_traits_of_an_entry_come_last(tmp_path: Path) -> None:
    """What an entry itself says is nearer to its causes than what its trait says."""
    kb = sound(tmp_path)
    with_traits(kb, "", "traits: [speaks-up, freezes]\nevidence:\n  often: [demo.link-down]\n")
    assert table(kb)["demo.link-down"] == "often"
    assert table(kb)["symptom=hang"] == "always"


def test_faults_of_traits_are_said_where_they_stand(tmp_path: Path) -> None:
    """A trait that does not exist is named at its cause, what a trait says wrongly once, in its own file."""
    kb = sound(tmp_path)
    with_traits(kb, "    traits: [freeze]\n", "traits: [freezes]\n")
    change(kb, "sometimes: [demo.link-down]", "sometimes: [demo.link-up]", "traits.yaml")
    found = problems(kb)
    assert "no trait is called 'freeze': did you mean 'freezes'?" in found
    assert sum("demo.link-up" in message for message in found) == 1
    assert "warning: no cause or entry has the trait 'speaks-up'" in found


def test_a_field_may_stand_in_a_file_of_its_own(tmp_path: Path) -> None:
    """Its faults are said with that file's place, and the field may not stand in both."""
    kb = sound(tmp_path)
    text = (kb / QUIET).read_text(encoding="utf-8")
    start, end = text.index("aliases:\n"), text.index("summary:\n")
    beside = (kb / QUIET).with_name("aliases.yaml")
    beside.write_text("en: [quiet rank]\nko: [1]\n", encoding="utf-8")
    assert "'aliases' also stands in aliases.yaml" in problems(kb)
    (kb / QUIET).write_text(text[:start] + text[end:], encoding="utf-8")
    _, faults = load_sources([kb])
    assert [(fault.path, fault.line, fault.column) for fault in faults] == [(str(beside), 2, 6)]
    beside.write_text("en: [quiet rank]\nko: [조용한 랭크]\n", encoding="utf-8")
    catalogue, faults = load_sources([kb])
    assert not faults
    assert next(entry for entry in catalogue.entries if entry.id == "D2").aliases.en == ("quiet rank",)
