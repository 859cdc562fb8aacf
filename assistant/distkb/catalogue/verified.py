"""What was looked up in released packages, and where a range in the catalogue says something else.

`verified.json` is written by `distkb kb verify`, which needs the package index; comparing needs this file only.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

import msgspec

from distkb.catalogue.records import Record, Version
from distkb.catalogue.settings import KnownNames, TimerDefault
from distkb.catalogue.versions import is_after, is_before, release, within

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from distkb.catalogue.settings import Setting, Timer

FILE: Final = "verified.json"
EXPLAINED: Final = "verified-not.yaml"
"""Hand-written: what a package cannot show, by id, and why."""
_TO: Final = ".."
_SWITCH: Final = {"0": "false", "1": "true", "false": "0", "true": "1"}
"""What is the same as the value of a switch."""


class Spans(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The versions of one kind of package with a wording, as `first..last` of those that were looked into."""

    whole: tuple[str, ...] = ()
    part: tuple[str, ...] = ()
    """Versions that hold a piece of the wording: from these nothing is concluded."""


class Looked(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What was found of one signature, setting or list of names."""

    fixed: str
    """Mark of the pattern or name that was looked up: another one was not."""
    found: dict[str, dict[str, Spans]] = msgspec.field(default_factory=dict)
    """By kind of package, then by wording."""


class Packages(Record, frozen=True, kw_only=True):
    """One kind of package that was looked into."""

    component: str
    versions: tuple[str, ...]
    """In order."""


class Verified(Record, frozen=True, kw_only=True):
    """The content of `verified.json`."""

    packages: dict[str, Packages]
    claims: dict[str, Looked]
    defaults: dict[str, dict[str, dict[str, tuple[str, ...]]]] = msgspec.field(default_factory=dict)
    """By setting or timer, kind of package and default: the versions that declare it."""


class Difference(Record, frozen=True, kw_only=True):
    """Versions of a component for which a range says one thing and its packages another."""

    component: str
    also: tuple[str, ...] = ()
    """Outside of every range, and the text is there."""
    missing: tuple[str, ...] = ()
    """Inside a range, and the text is not there, though other versions have it."""


def read(directory: Path) -> Verified | None:
    """Return the results of a knowledge base, None where there are none."""
    path = directory / FILE
    return msgspec.json.decode(path.read_bytes(), type=Verified) if path.is_file() else None


def mark(text: str) -> str:
    """Return what tells one pattern or name from another."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def spans(held: Iterable[str], versions: Sequence[str]) -> tuple[str, ...]:
    """Write versions as runs of neighbours among those that were looked into."""
    wanted = set(held)
    runs: list[list[str]] = []
    last = -2
    for index, version in enumerate(versions):
        if version in wanted:
            if index == last + 1:
                runs[-1].append(version)
            else:
                runs.append([version])
            last = index
    return tuple(run[0] if len(run) == 1 else f"{run[0]}{_TO}{run[-1]}" for run in runs)


def expanded(runs: Iterable[str], versions: Sequence[str]) -> set[str]:
    """Return the versions that runs of neighbours stand for."""
    held: set[str] = set()
    for run in runs:
        first, _, last = run.partition(_TO)
        held |= set(versions[versions.index(first) : versions.index(last or first) + 1])
    return held


def differences(
    looked: Looked, ranges: Iterable[Version | KnownNames], packages: dict[str, Packages]
) -> list[Difference]:
    """Compare the ranges of one record with what was found of it, component by component.

    A kind of package in which no version has the text says nothing: it may be put together at run time.
    """
    out: list[Difference] = []
    by_component: dict[str, list[Version | KnownNames]] = {}
    for one in ranges:
        by_component.setdefault(one.component, []).append(one)
    for component, stated in by_component.items():
        present, absent = presence(looked, component, packages)
        also = [v for v in present if not any(within(v, one.since, one.until) for one in stated)]
        missing = [v for v in absent if any(within(v, one.since, one.until) for one in stated)]
        if any(isinstance(one, KnownNames) and one.since is None for one in stated):  # names of many versions at once
            missing = [v for v in missing if is_after(v, present[0])]
        if also or missing:
            out.append(Difference(component=component, also=tuple(also), missing=tuple(missing)))
    return out


def as_value(text: str) -> str | None:
    """Return a literal or what a person wrote of it in one form; None where it is no plain value."""
    bare = text.strip()
    quoted = re.fullmatch(r"""(["'])(.*)\1""", bare)
    plain = quoted[2] if quoted else bare
    if plain.lower() in ("true", "false"):
        return plain.lower()
    try:
        return f"{float(plain):.12g}"
    except ValueError:
        return plain.lower() or None if quoted else None


def default_at(declared: dict[str, tuple[str, ...]], version: str, versions: Sequence[str]) -> str | None:
    """Return the default that one version declares."""
    return next((value for value, runs in declared.items() if version in expanded(runs, versions)), None)


def other_defaults(record: Setting | Timer, results: Verified) -> dict[tuple[str, str], list[str]]:
    """Return each declared default that a record does not state, by component, with its versions."""
    out: dict[tuple[str, str], list[str]] = {}
    for kind, declared in results.defaults.get(record.id, {}).items():
        component, versions = results.packages[kind].component, results.packages[kind].versions
        for version in versions:
            stated = [one for one in record.defaults if one.component == component]
            stated = [one for one in stated if within(version, one.since, one.until)]
            value = default_at(declared, version, versions)
            if value is None or not stated or any(one.when for one in stated):
                continue
            texts = [f"{one.seconds:.12g}" if isinstance(one, TimerDefault) else one.value for one in stated]
            said = {as_value(text) or text.lower() for text in texts}
            if not said & {value, _SWITCH.get(value, value)}:
                out.setdefault((component, value), []).append(version)
    return out


def presence(looked: Looked, component: str, packages: dict[str, Packages]) -> tuple[list[str], list[str]]:
    """Return the versions of a component that hold a text, and those that do not."""
    present: set[str] = set()
    absent: set[str] = set()
    for name, wordings in looked.found.items():
        versions = packages[name].versions
        if packages[name].component != component:
            continue
        whole = {v for one in wordings.values() for v in expanded(one.whole, versions)}
        part = {v for one in wordings.values() for v in expanded(one.part, versions)}
        if whole:
            present |= whole
            absent |= set(versions) - whole - part
    return sorted(present, key=_order), sorted(absent - present, key=_order)


def starts(component: str, packages: dict[str, Packages]) -> str:
    """Return the oldest version of a component that was looked into."""
    oldest = [kind.versions[0] for kind in packages.values() if kind.component == component and kind.versions]
    return min(oldest, key=_order)


def may_hold(one: Version, packages: dict[str, Packages]) -> bool:
    """Whether a range reaches into the versions that were looked into."""
    return one.until is None or not is_before(one.until, starts(one.component, packages))


def _order(version: str) -> tuple[int, ...]:
    return release(version) or ()
