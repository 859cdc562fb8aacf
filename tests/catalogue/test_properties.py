"""Whatever a file holds, the loader answers with problems in the file, and never raises."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from catalogue_samples import DATA, QUIET
from hypothesis import example, given, settings
from hypothesis import strategies as st

from distkb.catalogue.check import check
from distkb.catalogue.load import Loaded, load_located
from distkb.catalogue.source import INVALID, read_bytes

YAML: Any = pytest.importorskip("yaml")
TEXT = (DATA / "sound" / QUIET).read_text(encoding="utf-8")
LINES = TEXT.split("\n")
CONTENT: dict[str, Any] = YAML.safe_load(TEXT)
SCRAPS = st.sampled_from(
    (DATA / "scraps.txt").read_text(encoding="utf-8").splitlines() + list("\t|\x00\u2028\ud7ff\r\n")
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def load_text(text: str) -> Loaded:
    """Load a knowledge base whose one entry has this text; every problem must be inside its file."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / QUIET
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        loaded = load_located([Path(directory)])
        lines = text.split("\n")
        for problem in [*loaded.problems, *check(loaded)]:
            if problem.path == str(path):
                assert 1 <= problem.line <= len(lines), problem
                assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1, problem
            assert "\n" not in problem.message
        assert len(loaded.of("entry")) == 1 or loaded.problems
    return loaded


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(0, len(TEXT)), st.integers(0, 30), SCRAPS), min_size=1, max_size=4))
def test_random_edits_never_raise(edits: list[tuple[int, int, str]]) -> None:
    """Cut and insert anywhere: an entry loads, or its problems say why not."""
    text = TEXT
    for position, length, scrap in edits:
        text = text[:position] + scrap + text[position + length :]
    load_text(text)


@settings(max_examples=100)
@given(st.lists(st.integers(0, len(LINES) - 1), min_size=1, max_size=6), st.booleans())
def test_lost_and_repeated_lines_never_raise(numbers: list[int], repeat: bool) -> None:
    """As after a merge that went wrong."""
    lines = list(LINES)
    for number in sorted(set(numbers), reverse=True):
        lines[number : number + 1] = [lines[number]] * 2 if repeat else []
    load_text("\n".join(lines))


@settings(max_examples=150)
@given(st.data(), VALUES)
def test_a_wrong_value_anywhere_is_a_problem_or_loads(data: st.DataObject, value: Any) -> None:
    """A value of any shape in the place of any other is judged by its type."""
    content = YAML.safe_load(TEXT)
    where: Any = content
    while True:
        keys = list(where) if isinstance(where, dict) else list(range(len(where)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(where[key], (dict, list)) or not where[key] or data.draw(st.booleans()):
            break
        where = where[key]
    where[key] = value
    load_text(YAML.safe_dump(content, allow_unicode=True, sort_keys=False))


@settings(max_examples=200)
@given(st.binary(max_size=300))
def test_random_bytes_never_raise(data: bytes) -> None:
    """Any bytes are YAML or a problem."""
    document, problems = read_bytes(Path("x.yaml"), data)
    assert problems or document.value is not INVALID


@given(VALUES.filter(lambda value: value not in ("", None)))
@example("0E0")
@example("1.5e5")
@example(1e-7)
def test_what_is_dumped_is_read_back(value: Any) -> None:
    """Ordinary YAML means what it says: what is read without a problem equals what was written."""
    document, problems = read_bytes(Path("x.yaml"), YAML.safe_dump(value, allow_unicode=False).encode())
    assert problems or document.value == value
