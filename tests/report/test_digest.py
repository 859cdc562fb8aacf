"""The parts of a digest: tokens, budgets, short names of files and the rows that tell the course of a number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkb.evidence.run.turns import turns
from distkb.report.digest.budget import fit
from distkb.report.digest.ends import Ends
from distkb.report.digest.model import DigestLine, Section
from distkb.report.digest.tokens import tokens


def section(name: str, count: int) -> Section:
    """A section of numbered lines."""
    lines = tuple(DigestLine(text=f"{name} {n}", order=-n) for n in range(count))
    return Section(name=name, items=lines)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "least"),
    [("", 0), ("step 12345", 3), ("dist.all_reduce(x)", 7), ("랭크가 멈췄습니다", 7), ("internationalization", 4)],
)
def test_tokens_are_counted_rather_too_high(text: str, least: int) -> None:
    """Words, digits, marks and syllables all count."""
    assert tokens(text) >= least


@given(st.text(), st.text())
def test_tokens_of_a_whole_are_at_most_those_of_its_lines(one: str, other: str) -> None:
    """So lines may be priced one by one."""
    assert tokens(f"{one}\n{other}") <= tokens(one) + tokens(other) + 1


@given(st.integers(0, 400), st.lists(st.integers(0, 60), min_size=1, max_size=4))
def test_sections_stay_within_their_budget(budget: int, counts: list[int]) -> None:
    """Each gets its share, what is left over goes on, and every line is either shown or counted."""
    names = ["causes", "failures", "lines", "next"]
    sections = [section(name, count) for name, count in zip(names, counts, strict=False)]
    shown = fit(sections, budget, lambda _: 3)
    assert 3 * sum(len(one.items) for one in shown) <= max(0, budget)
    assert sum(len(one.items) + one.left_out for one in shown) == sum(counts)
    for one in shown:
        assert [item.order for item in one.items] == sorted(item.order for item in one.items)


def test_what_one_section_does_not_need_goes_to_the_others() -> None:
    """A small section leaves room, and nothing is left out where all of it fits."""
    shown = fit([section("causes", 1), section("failures", 100)], 400, lambda _: 3)
    assert [one.left_out for one in shown] == [0, 0]


def test_files_are_named_by_the_ends_of_their_paths() -> None:
    """As short as they can be told apart."""
    ends = Ends(["/a/run/0/stderr.log", "/a/run/1/stderr.log", "/a/run/console.log", "/b/train.py"])
    assert ends.of("/a/run/0/stderr.log") == "0/stderr.log"
    assert ends.of("/b/train.py") == "train.py"
    assert ends.of("unknown.log") == "unknown.log"


def test_the_course_of_a_number_is_told_where_it_turns() -> None:
    """A spike is among the rows, a counter chooses none, and the first and last row always are."""
    counter = [float(n) for n in range(200)]
    loss = [1.0 - n / 400 for n in range(200)]
    loss[137] = 9.0
    assert {0, 136, 137, 138, 199} <= set(turns([counter, loss], 200, 8))


@given(st.lists(st.floats(), max_size=40), st.integers(2, 9))
def test_any_numbers_have_a_course(column: list[float], most: int) -> None:
    """Whatever was printed, at most so many rows come, in order and each once."""
    rows = turns([column], len(column), most)
    assert rows == sorted(set(rows))
    assert len(rows) <= most
    assert not column or {0, len(column) - 1} <= set(rows)
