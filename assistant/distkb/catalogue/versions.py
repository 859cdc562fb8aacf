"""Compares versions as released: `2.13.0+cu128` is 2.13, `2.15.0a0+git1234` already behaves like 2.15."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Protocol

_RELEASE = r"\s*v?([0-9]{1,9}(?:\.[0-9]{1,9}){0,5})"


class Range(Protocol):
    """Anything that holds for a range of versions of one component."""

    @property
    def component(self) -> str:
        """Name of the component."""

    @property
    def since(self) -> str | None:
        """First version, inclusive; None where it has no beginning that is known."""

    @property
    def until(self) -> str | None:
        """Last version, inclusive; None where it still holds."""


def release(version: str) -> tuple[int, ...] | None:
    """Return the numbers of a release without what follows them; None where there are none."""
    found = re.match(_RELEASE, version)
    return tuple(int(part) for part in found[1].split(".")) if found else None


def is_before(version: str, other: str) -> bool:
    """Whether `version` is older than `other`, as far as `other` is given: 2.13.1 is not before 2.13."""
    mine, theirs = release(version), release(other)
    if mine is None or theirs is None:
        return False
    return _padded(mine, len(theirs)) < theirs


def is_after(version: str, other: str) -> bool:
    """Whether `version` is newer than `other`, as far as `other` is given: 2.13.1 is not after 2.13."""
    mine, theirs = release(version), release(other)
    if mine is None or theirs is None:
        return False
    return _padded(mine, len(theirs)) > theirs


def within(version: str, since: str | None, until: str | None) -> bool:
    """Whether a version lies in a range whose ends belong to it."""
    too_old = since is not None and is_before(version, since)
    too_new = until is not None and is_after(version, until)
    return not (too_old or too_new)


def installed(versions: Mapping[str, str | None], component: str) -> str | None:
    """Return the installed version of a component, None where it is not known or not a version."""
    version = versions.get(component)
    return version if version and release(version) is not None else None


def holds(item: Range, versions: Mapping[str, str | None]) -> bool | None:
    """Whether a range holds for the installed version; None where that version is not known."""
    version = installed(versions, item.component)
    return None if version is None else within(version, item.since, item.until)


def read_here(read_by: Iterable[Range], versions: Mapping[str, str | None]) -> bool | None:
    """Whether any reader reads a name here; None where no reader does for certain and some are not known."""
    answers = [holds(item, versions) for item in read_by]
    if True in answers:
        return True
    return None if None in answers else False


def _padded(numbers: tuple[int, ...], length: int) -> tuple[int, ...]:
    return (numbers + (0,) * length)[:length]
