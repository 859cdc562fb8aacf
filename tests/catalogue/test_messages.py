"""Messages of libraries are checked against the causes that they are listed for, and lead a pasted one there."""

from __future__ import annotations

from pathlib import Path

import pytest

from distkb.catalogue.check import check_directories
from distkb.catalogue.load import load_sources
from distkb.catalogue.places import knowledge_bases
from distkb.search.build import payload_of
from distkb.search.index import Index
from distkb.search.query import listed, search

KB = knowledge_bases()[0]
FILE = "component: demo\nversion: '1.0'\nmessages:\n"
MESSAGE = "the flux compensator of stage {} saw other microbatches than stage {}"


def overlay(folder: Path, content: str) -> list[str]:
    """What is said of a knowledge base that adds one file of messages."""
    (folder / "messages").mkdir()
    (folder / "messages" / "demo.yaml").write_text(content, encoding="utf-8")
    return [str(problem) for problem in check_directories([KB, folder]) if "demo.yaml" in str(problem)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (f"{FILE}  D66.zz: ['{MESSAGE}']\n", "demo.yaml:4:3: no entry or cause has the id 'D66.zz': did you mean"),
        (f"{FILE}  D66.a: ['it is {{}}']\n", "demo.yaml:4:11: has fewer than 28 characters of its own"),
        (f"{FILE}  D65: ['{MESSAGE}']\n  D66: ['{MESSAGE}']\n", "demo.yaml:5:9: is listed for D65 too"),
        ("component: demo\n", "demo.yaml:1:1:"),
    ],
)
def test_what_is_wrong_with_messages_is_said_with_its_place(tmp_path: Path, content: str, said: str) -> None:
    """Every fault of such a file must be said with file, line and column."""
    problems = overlay(tmp_path, content)
    assert any(said in problem for problem in problems), problems


@pytest.mark.slow
def test_a_listed_message_leads_to_its_entry(tmp_path: Path) -> None:
    """A pasted error with other numbers in it finds the entry that its library's file names."""
    assert overlay(tmp_path, f"{FILE}  D66.a: ['{MESSAGE}']\n") == []
    catalogue, _ = load_sources([KB, tmp_path])
    index = Index(payload_of(catalogue))
    found = search(index, "ValueError: the flux compensator of stage 3 saw other microbatches")
    assert found[0].id == "D66"
    assert listed(index, f"ValueError: {MESSAGE.format(3, 7)}") == {"D66"}
    assert listed(index, "saw other microbatches than stage 3 of the flux compensator of stage 7") == set()
    assert listed(index, "CUDA out of memory") == set()
