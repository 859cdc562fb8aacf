"""The subset of regular expressions that signatures may use."""

from __future__ import annotations

import re

import pytest

from distkb.catalogue.patterns import GROUPS, fault, fixed_run, fixed_total, scanner_fault, unknown_groups

SOUND = [
    r"Watchdog caught collective operation timeout",
    r"\[Rank (?P<rank>\d+)\] .*timed out after (?P<timeout_ms>\d+) ?ms",
    r"(?i)cuda(?: runtime)? error: out of memory",
    r"Connection (?:closed|reset) by peer \[[^\]]+\]:\d{1,5}",
    r"\bgloo\b.{0,120}(?:Broken pipe|timed out)$",
    r"^Traceback \(most recent call last\):",
    r"(?:^|[ ,])rank gone(?:$|,)",
    r"랭크 0에서만 저장",
]


@pytest.mark.parametrize("pattern", SOUND)
def test_sound_patterns_have_no_fault(pattern: str) -> None:
    """What signatures need is in the subset, and Hyperscan takes it."""
    assert fault(pattern) is None
    assert scanner_fault(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"(?=rank)abcde", "look-around"),
        (r"(?<!rank)abcde", "look-around"),
        (r"(abcde)\1", "a back-reference"),
        (r"(?P<op>abcde)(?P=op)", "a back-reference"),
        (r"\Aabcde", r"\A"),
        (r"abcde\Z", r"\Z"),
        (r"ab\ncde", "a line break"),
        (r"(?s)ab.cde", "a flag other than (?i)"),
        (r"(?x) abcde", "a flag other than (?i)"),
        (r"abc[[d]e", "a bracket inside brackets"),
        (r"abcde{2000}", "a repeat above 1000"),
        (r"\u0041bcde", r"\u"),
        (r"abcde{,3}", "{,3}"),
        (r"(abcde", "not a regular expression"),
        (r"abc^de", "^ after the start"),
        (r"(?:a|b$)cde", "$ before the end"),
        (r"(abcde)*", "matches an empty line"),
    ],
)
def test_each_construct_outside_the_subset_is_named(pattern: str, why: str) -> None:
    """The fault says which construct it is."""
    assert why in str(fault(pattern))


def test_the_scanner_has_the_last_word() -> None:
    """What only Hyperscan refuses is found too."""
    assert fault(r"rank\b\Bgone") is None
    assert "refuses the pattern" in str(scanner_fault(r"rank\b\Bgone"))


def test_a_pattern_too_large_for_the_scanner_is_refused() -> None:
    """What would fail when the first log is read fails when it is written; a report's phrases are not scanned so."""
    sums = "|".join(rf"{n}\.\d+ GiB al.{{20,40}}; {n + 1}" for n in range(80))
    pattern = rf"\b(?:{sums})\.\d+ GiB reserved"
    assert "too large" in str(scanner_fault(pattern, in_logs=True))
    assert scanner_fault(pattern) is None


def test_bounded_repeats_are_checked_quickly() -> None:
    """Hyperscan needs seconds for wide bounds with UTF-8 rules; the check does not ask it to."""
    assert scanner_fault(r"Child module .{1,900} is already wrapped by .{0,900} twice") is None


@pytest.mark.parametrize(
    ("pattern", "longest", "total"),
    [
        ("abcde", 5, 5),
        ("ab.cde", 3, 5),
        ("ab(cd)ef", 6, 6),
        ("(?:abc|abcdef)", 3, 3),
        ("(?:foo|barbaz)qu", 3, 5),
        ("abc(?:def)?gh", 3, 5),
        ("(?:abc)+", 3, 3),
        ("(?:ab){3}", 6, 6),
        ("a*b", 1, 1),
        (r"\d+", 0, 0),
        ("멈춤", 4, 4),
        (r"ab\bcd", 4, 4),
    ],
)
def test_fixed_characters_of_every_match(pattern: str, longest: int, total: int) -> None:
    """Alternatives count as the poorest of them, optional parts not at all."""
    assert (fixed_run(pattern), fixed_total(pattern)) == (longest, total)


def test_groups_are_those_that_the_model_names() -> None:
    """The field's documentation and the check agree."""
    from distkb.catalogue.schema import schemas

    note = schemas()["entry.schema.json"]["$defs"]["Signature"]["properties"]["pattern"]["description"]
    named = set(re.findall(r"[a-z_]+", note.split("Named groups are read by the program:")[1]))
    assert named == GROUPS
    assert unknown_groups(r"(?P<rank>\d) (?P<node>\d)") == ["node"]
