"""Accounts and runs are checked against the entry beside them, and a broken file costs nothing else."""

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


def copied(home: Path, name: str) -> Path:
    """Put a copy of one entry, under another id, into a knowledge base; returns its folder."""
    folder = home / "entries" / "hangs" / f"{name}-copy"
    folder.mkdir(parents=True)
    for file in ("entry.yaml", "aliases.yaml", "signatures.yaml"):
        text = (ENTRY / file).read_text(encoding="utf-8")
        (folder / file).write_text(text.replace("D21", name), encoding="utf-8")
    return folder


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    """Make a knowledge base that holds a copy of one entry, under another id."""
    return copied(tmp_path, "X21")


FAULTS = {
    "X21": (ACCOUNT.format(cause="X21.zz", text=TEXT), ":1:10: the entry beside it has no cause 'X21.zz'"),
    "X22": (ACCOUNT.format(cause="X22.a", text="It hangs."), ":3:9: an account has 40 to 2000 characters"),
    "X23": (ACCOUNT.format(cause="X23.a", text=TEXT) * 2, ":6:9: warning: shares 12 words in a row with"),
    "X24": ("accounts: []\n", ":1:1: the file must hold a list of accounts"),
    "X25": ("- cause: X25.a\n  lang: de\n  text: hm\n", ":2:9:"),
}


def test_what_is_wrong_with_accounts_is_said_with_its_place(tmp_path: Path) -> None:
    """Every fault of an accounts file must be said with file, line and column."""
    for name, (content, _) in FAULTS.items():
        (copied(tmp_path, name) / "accounts.yaml").write_text(content, encoding="utf-8")
    problems = [str(problem) for problem in check_directories([KB, tmp_path])]
    for name, (_, said) in FAULTS.items():
        assert any(f"{name}-copy/accounts.yaml{said}" in problem for problem in problems), problems


RUN = "- cause: {cause}\n  log: step 1 loss 0.5\n  code: train()\n"
RUN_FAULTS = {
    "X21": (RUN.format(cause="X21.zz"), ":1:10: the entry beside it has no cause 'X21.zz'"),
    "X22": ("runs: []\n", ":1:1: the file must hold a list of runs"),
    "X23": ("- cause: X23.a\n  log: step 1\n", ":1:3: missing field 'code'"),
}


def test_what_is_wrong_with_runs_is_said_with_its_place(tmp_path: Path) -> None:
    """Every fault of a file of runs must be said with file, line and column, and a sound file brings none."""
    for name, (content, _) in RUN_FAULTS.items():
        (copied(tmp_path, name) / "runs.yaml").write_text(content, encoding="utf-8")
    (copied(tmp_path, "X24") / "runs.yaml").write_text(RUN.format(cause="X24.a"), encoding="utf-8")
    problems = [str(problem) for problem in check_directories([KB, tmp_path]) if "runs.yaml" in str(problem)]
    for name, (_, said) in RUN_FAULTS.items():
        assert any(f"{name}-copy/runs.yaml{said}" in problem for problem in problems), problems
    assert not [problem for problem in problems if "X24-copy" in problem]


PROJECT = "- cause: {cause}\n  files:\n    train.py: |\n      train()\n"
PROJECT_FAULTS = {
    "X21": (PROJECT.format(cause="X21.zz"), ":1:10: the entry beside it has no cause 'X21.zz'"),
    "X22": ("projects: []\n", ":1:1: the file must hold a list of projects"),
    "X23": ("- cause: X23.a\n  code: train()\n", ": missing field 'files'"),
}


def test_what_is_wrong_with_projects_is_said_with_its_place(tmp_path: Path) -> None:
    """Every fault of a file of projects must be said with its file, and a sound file brings none."""
    for name, (content, _) in PROJECT_FAULTS.items():
        (copied(tmp_path, name) / "projects.yaml").write_text(content, encoding="utf-8")
    (copied(tmp_path, "X24") / "projects.yaml").write_text(PROJECT.format(cause="X24.a"), encoding="utf-8")
    problems = [str(problem) for problem in check_directories([KB, tmp_path]) if "projects.yaml" in str(problem)]
    for name, (_, said) in PROJECT_FAULTS.items():
        path, _, end = said.rpartition(": ")
        assert any(f"{name}-copy/projects.yaml{path}" in p and end in p for p in problems), problems
    assert not [problem for problem in problems if "X24-copy" in problem]


def test_sound_accounts_are_quiet(overlay: Path) -> None:
    """A sound file must bring no problem of its own."""
    (overlay / "accounts.yaml").write_text(ACCOUNT.format(cause="X21.a", text=TEXT), encoding="utf-8")
    problems = [str(problem) for problem in check_directories([KB, overlay.parents[2]])]
    assert not [problem for problem in problems if "X21-copy/accounts.yaml" in problem]
    shutil.rmtree(overlay)
