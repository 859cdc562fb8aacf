"""Versions are compared as released, and an unknown one decides nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkb.catalogue.records import Version
from distkb.catalogue.versions import holds, is_after, is_before, read_here, release, within


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("2.13.0+cu128", (2, 13, 0)),
        ("2.15.0a0+git0f1e2d3", (2, 15, 0)),
        ("2.4.0.dev20240601", (2, 4, 0)),
        ("v2.27.5-1", (2, 27, 5)),
        ("2.6.0rc4", (2, 6, 0)),
        (" 0.19.8 ", (0, 19, 8)),
        ("2", (2,)),
        ("unknown", None),
        ("", None),
        ("١.٢", None),
    ],
)
def test_a_release_is_its_numbers(text: str, numbers: tuple[int, ...] | None) -> None:
    """What stands behind the release does not count."""
    assert release(text) == numbers


@pytest.mark.parametrize(
    ("version", "since", "until", "inside"),
    [
        ("2.13.1", "2.13", None, True),
        ("2.13.1", None, "2.13", True),
        ("2.12.9", "2.13", None, False),
        ("2.14.0", None, "2.13", False),
        ("2.2", "2.2.2", None, False),
        ("2.10.0", "2.9", "2.11", True),
        ("2.15.0a0+git", "2.15", None, True),
    ],
)
def test_the_ends_of_a_range_belong_to_it(version: str, since: str | None, until: str | None, *, inside: bool) -> None:
    """2.13.1 is within `until: 2.13`, and 2.10 comes after 2.9."""
    assert within(version, since, until) is inside


def test_an_unknown_version_decides_nothing() -> None:
    """Neither yes nor no comes out of a component that is not installed or has no version."""
    reader = Version(component="torch", since="2.2")
    assert holds(reader, {}) is None
    assert holds(reader, {"torch": None}) is None
    assert holds(reader, {"torch": "unknown"}) is None
    assert read_here([reader, Version(component="nccl", since="2.30")], {"torch": "2.1"}) is None
    assert read_here([reader], {"torch": "2.1"}) is False
    assert read_here([], {"torch": "2.1"}) is False


@given(st.lists(st.integers(0, 99), min_size=1, max_size=4), st.lists(st.integers(0, 99), min_size=1, max_size=4))
def test_no_version_is_both_before_and_after(mine: list[int], theirs: list[int]) -> None:
    """The two comparisons exclude each other."""
    a, b = ".".join(map(str, mine)), ".".join(map(str, theirs))
    assert not (is_before(a, b) and is_after(a, b))
    assert not is_before(a, a)
