"""What an author reads about a knowledge base with every kind of fault."""

from __future__ import annotations

import os
from pathlib import Path

from catalogue_samples import DATA

from distkb.catalogue.check import check_directories

GOLDEN = DATA / "broken.txt"
UPDATE = "UPDATE_GOLDEN"


def test_problems_of_the_broken_knowledge_base() -> None:
    """Every fault is reported at once as `file:line:column: message`, in order; see `broken.txt`.

    With UPDATE_GOLDEN=1 the expected text is written anew.
    """
    problems = check_directories([DATA / "broken"])
    text = "".join(f"{problem.shown(DATA)}\n" for problem in problems)
    if os.environ.get(UPDATE):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_every_problem_is_inside_its_file() -> None:
    """Lines and columns are those of the file."""
    for problem in check_directories([DATA / "broken"]):
        lines = Path(problem.path).read_text(encoding="utf-8").split("\n")
        assert 1 <= problem.line <= len(lines)
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1
