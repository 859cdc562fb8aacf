"""Accounts are checked against the entry beside them, and a broken file costs nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from distkb.catalogue.check import check_directories
from distkb.catalogue.places import knowledge_bases

KB = knowledge_bases()[0]
ENTRY = next((KB / "entries" / "hangs").glob("D21-*"))
ACCOUNT = "- cause: {cause}\n  lang: en\n  text: {text}\n"
TEXT = "Rank 0 evaluates alone and then nothing happens any more, on two machines alike."


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    """Make a knowledge base that holds a copy of one entry, under another id."""
    folder = tmp_path / "entries" / "hangs" / "X21-copy"
    folder.mkdir(parents=True)
    text = (ENTRY / "entry.yaml").read_text(encoding="utf-8")
    (folder / "entry.yaml").write_text(text.replace("D21", "X21"), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (ACCOUNT.format(cause="X21.zz", text=TEXT), "accounts.yaml:1:10: the entry beside it has no cause 'X21.zz'"),
        (ACCOUNT.format(cause="X21.a", text="It hangs."), "accounts.yaml:3:9: an account has 40 to 2000 characters"),
        (ACCOUNT.format(cause="X21.a", text=TEXT) * 2, "accounts.yaml:6:9: warning: shares 12 words in a row with"),
        ("accounts: []\n", "accounts.yaml:1:1: the file must hold a list of accounts"),
        ("- cause: X21.a\n  lang: de\n  text: hm\n", "accounts.yaml:2:9:"),
    ],
)
def test_what_is_wrong_with_accounts_is_said_with_its_place(overlay: Path, content: str, said: str) -> None:
    """Every fault of an accounts file must be said with file, line and column."""
    (overlay / "accounts.yaml").write_text(content, encoding="utf-8")
    problems = [str(problem) for problem in check_directories([KB, overlay.parents[2]])]
    assert any(said in problem for problem in problems), problems


def test_sound_accounts_are_quiet(overlay: Path) -> None:
    """A sound file must bring no problem of its own."""
    (overlay / "accounts.yaml").write_text(ACCOUNT.format(cause="X21.a", text=TEXT), encoding="utf-8")
    problems = [str(problem) for problem in check_directories([KB, overlay.parents[2]])]
    assert not [problem for problem in problems if "X21-copy/accounts.yaml" in problem]
    shutil.rmtree(overlay)
