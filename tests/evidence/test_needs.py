"""What decides on which rows of a report a pattern is tried: nothing is lost, and the cost grows as the text does."""

from __future__ import annotations

import random
import re
import time
from functools import cache

import built_in
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distkb.catalogue.effort import ROW
from distkb.catalogue.places import cache_directory
from distkb.evidence.readers.report.report_reader import ReportReader, in_report, take_apart
from distkb.evidence.scanner.needs import Needs
from distkb.evidence.text.patience import ALL_S, TICK_S, Patience

ODD = (
    r"plain", r"(?i)Any CASE", r"a{2}b", r"(?:one|two)(?: more)? end",
    r"(?i)(?:no|any|some) (?:\w{1,64} )?(?:target|gt)s?",
    r"\bx\d{1,3}", r"비밀(?:번호)?", r"(?:alpha.{0,9}beta|gamma)(?:delta)?", r"[ab]c", r"(?i)straße",
    r"(?:ab|cd){1,2}e?",
    r"k?", r"(?:(?:in|out) of|beyond) (?:memory|time)",
)  # fmt: skip
WORDS = (
    "plain", "any case", "ANY Case", "aab", "one end", "two more end", "No big target", "any GT", "x12",
    "비밀번호", "비밀",
    "alpha beta", "gamma", "bc", "STRASSE", "straße", "abcde", "in of memory", "beyond time", "out of", " ", "q",
)  # fmt: skip


@cache
def _odd() -> tuple[Needs, list[re.Pattern[str]]]:
    return Needs(ODD), [re.compile(pattern, re.ASCII) for pattern in ODD]


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map("".join), max_size=4))
@settings(deadline=None)
def test_every_match_is_among_the_candidates(rows: list[str]) -> None:
    """Whatever `re` finds on a row, the pattern is tried there."""
    needs, expressions = _odd()
    found = set(needs.candidates(rows))
    for number, row in enumerate(rows):
        for index, expression in enumerate(expressions):
            if row and expression.search(row):
                assert (index, number) in found


@cache
def _rows() -> list[str]:
    signatures = built_in.catalogue().signatures
    return [one.example[:ROW] for one in signatures if one.example]


@pytest.mark.slow
def test_no_example_of_the_catalogue_is_lost() -> None:
    """Each pattern for reports is tried on every line of the knowledge base that it matches."""
    patterns = [in_report(one.pattern) for one in built_in.catalogue().signatures if "report" in one.where]
    rows = _rows()
    found = set(Needs(patterns).candidates(rows))
    source = random.Random(5)
    for index in source.sample(range(len(patterns)), 80):
        expression = re.compile(patterns[index], re.ASCII)
        lost = [row for number, row in enumerate(rows) if expression.search(row) and (index, number) not in found]
        assert lost == []


def test_a_report_takes_as_long_as_it_is_long() -> None:
    """Words of all examples in the catalogue: four times as many take about four times as long."""
    reader = ReportReader(built_in.catalogue().signatures, cache_directory())
    rows = _rows()
    random.Random(7).shuffle(rows)
    text = " ".join(" ".join(rows).split()[::3])
    times = []
    for size in (0, 12_000, 48_000):
        began = time.process_time()
        reader.observations(take_apart(text[:size]), None)
        times.append(time.process_time() - began)
    assert times[2] < 8 * times[1] + 0.2
    assert times[2] < 4.0
    assert reader.given_up == 0


def test_searches_take_a_bounded_time_together() -> None:
    """However many searches a text keeps busy, they end after a time that grows with its length only."""
    expression = re.compile("(a|aa)+b")
    with Patience() as patience:
        began = time.process_time()
        for _ in range(200):
            assert patience.search(expression, "a" * 80) is None
    assert time.process_time() - began < 3 * (ALL_S + TICK_S)
    assert patience.given_up == 200
