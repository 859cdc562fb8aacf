"""Writes the version ranges of log lines and settings as the packages have them, in place of what a person wrote."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from distkb.catalogue.checks.verified import explanations
from distkb.catalogue.records import How, Version
from distkb.catalogue.verified import differences, may_hold, presence, starts
from distkb.catalogue.versions import release
from distkb.verify.packages import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from distkb.catalogue.load import Loaded, Located
    from distkb.catalogue.problem import Problem
    from distkb.catalogue.verified import Looked, Verified

_RANGE = re.compile(r"\{component: [^{}]*\}")
_SAID: Final = ("report", "docs")
"""How a text was seen where nobody looked into the software itself."""


def mend(loaded: Loaded, results: Verified) -> list[str]:
    """Rewrite each range that packages contradict, or that only a report stands for; return the ids."""
    changed = list(_changed(loaded, results))
    for record, ranges in sorted(changed, key=lambda one: _place(one[0]), reverse=True):
        _write(record, ranges)  # from the last line of a file to its first, so that none moves before its turn
    return [record.value.id for record, _ in changed]


def _changed(loaded: Loaded, results: Verified) -> Iterator[tuple[Located, list[Version]]]:
    packaged = {kind.component for kind in results.packages.values()}
    explained = {name for directory in loaded.directories for name in explanations(directory)[0]}
    for record in (*loaded.of("signature"), *loaded.of("setting")):
        looked = results.claims.get(record.value.id)
        if looked is None or record.value.id in explained:
            continue
        ranges: list[Version] = list(_stated(record))
        differs = {one.component for one in differences(looked, ranges, results.packages)}
        for component in dict.fromkeys(one.component for one in ranges):
            own = [one for one in ranges if one.component == component]
            packed = component in packaged
            said = packed and any(one.how in _SAID and may_hold(one, results.packages) for one in own)
            unseen = said and presence(looked, component, results.packages)[0]
            if component in differs or unseen:
                at = ranges.index(own[0])
                new = _ranges(component, own, looked, results)
                ranges = [*ranges[:at], *new, *(one for one in ranges[at:] if one.component != component)]
        if ranges != list(_stated(record)):
            yield record, ranges


def _stated(record: Located) -> tuple[Version, ...]:
    stated: tuple[Version, ...] = record.value.seen_in if record.kind == "signature" else record.value.read_by
    return stated


def _place(record: Located) -> Problem:
    return record.problem("", "seen_in" if record.kind == "signature" else "read_by")


def _ranges(component: str, own: Sequence[Version], looked: Looked, results: Verified) -> list[Version]:
    """Return the runs of versions that hold a text, what was written of older ones, and what was seen printed."""
    present, absent = presence(looked, component, results.packages)
    kinds = [kind for kind in KINDS if kind.component == component]
    how: How = "source" if all(kind.tag or kind.source for kind in kinds) else "wheel"
    each = any(kind.each for kind in kinds)
    first = starts(component, results.packages)
    before = [one for one in own if not may_hold(one, results.packages)]
    out: list[Version] = []
    run: list[str] = []
    for version in [*sorted({*present, *absent}, key=_order), ""]:
        if version in present:
            run.append(version)
        elif run:
            since = None if run[0] == first else _named(run[0], each=each)
            until = _named(run[-1], each=each) if version else None
            out.append(Version(component=component, since=since, until=until, how=how))
            run = []
    printed = [
        one
        for one in own
        if one.how == "run" and not any(d.missing for d in differences(looked, [one], results.packages))
    ]
    return [*before, *out, *(one for one in printed if one not in before)]


def _named(version: str, *, each: bool) -> str:
    """Return a version as far as it was looked at: where one stands for a minor version, that."""
    return version if each else ".".join(version.split(".")[:2])


def _order(version: str) -> tuple[int, ...]:
    return release(version) or ()


def _write(record: Located, ranges: Sequence[Version]) -> None:
    place = _place(record)
    path = Path(place.path)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    first = place.line - 1
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    item = re.compile(rf"{indent}(?:- \{{?component:|  \w+:)")
    last = first
    while last + 1 < len(lines) and item.match(lines[last + 1]):
        last += 1
    if lines[first].lstrip().startswith("- {"):
        lines[first : last + 1] = [f"{indent}- {_text(one)}\n" for one in ranges]
    elif lines[first].lstrip().startswith("- "):
        lines[first : last + 1] = [f"{indent}{line}\n" for one in ranges for line in _lines(one)]
    else:
        inside = list(_RANGE.finditer(lines[first]))
        texts = ", ".join(_text(one) for one in ranges)
        lines[first] = lines[first][: inside[0].start()] + texts + lines[first][inside[-1].end() :]
    path.write_text("".join(lines), encoding="utf-8")


def _text(one: Version) -> str:
    return "{" + ", ".join(f"{name}: {value}" for name, value in _fields(one)) + "}"


def _lines(one: Version) -> Iterator[str]:
    for number, (name, value) in enumerate(_fields(one)):
        yield f"{'  ' if number else '- '}{name}: {value}"


def _fields(one: Version) -> Iterator[tuple[str, str]]:
    yield "component", one.component
    for name, end in (("since", one.since), ("until", one.until)):
        if end:
            yield name, f"'{end}'"
    yield "how", one.how
