"""Writes the version ranges of log lines as the packages have them, in place of what a person wrote."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from distkb.catalogue.checks.verified import explanations
from distkb.catalogue.records import Version
from distkb.catalogue.verified import differences, may_hold, presence, starts
from distkb.catalogue.versions import release
from distkb.verify.packages import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from distkb.catalogue.load import Loaded, Located
    from distkb.catalogue.verified import Looked, Verified

_RANGE = re.compile(r"\{component: [^{}]*\}")
_SAID: Final = ("report", "docs")
"""How a text was seen where nobody looked into the software itself."""


def mend(loaded: Loaded, results: Verified) -> list[str]:
    """Rewrite each range that packages contradict, or that only a report stands for; return the ids."""
    changed = list(_changed(loaded, results))
    for record, ranges in sorted(changed, key=lambda one: one[0].problem("", "seen_in"), reverse=True):
        _write(record, ranges)  # from the last line of a file to its first, so that none moves before its turn
    return [record.value.id for record, _ in changed]


def _changed(loaded: Loaded, results: Verified) -> Iterator[tuple[Located, list[Version]]]:
    packaged = {kind.component for kind in results.packages.values()}
    explained = {name for directory in loaded.directories for name in explanations(directory)[0]}
    for record in loaded.of("signature"):
        looked = results.claims.get(record.value.id)
        if looked is None or record.value.id in explained:
            continue
        ranges: list[Version] = list(record.value.seen_in)
        differs = {one.component for one in differences(looked, ranges, results.packages)}
        for component in dict.fromkeys(one.component for one in ranges):
            own = [one for one in ranges if one.component == component]
            said = any(one.how in _SAID and may_hold(one, results.packages) for one in own if component in packaged)
            unseen = said and presence(looked, component, results.packages)[0]
            if component in differs or unseen:
                at = ranges.index(own[0])
                new = _ranges(component, own, looked, results)
                ranges = [*ranges[:at], *new, *(one for one in ranges[at:] if one.component != component)]
        if ranges != list(record.value.seen_in):
            yield record, ranges


def _ranges(component: str, own: Sequence[Version], looked: Looked, results: Verified) -> list[Version]:
    """Return the ranges of a text: the runs of versions that hold it, what was written of older ones, and what we saw printed."""
    present, absent = presence(looked, component, results.packages)
    kinds = [kind for kind in KINDS if kind.component == component]
    how = "source" if all(kind.tag or kind.source for kind in kinds) else "wheel"
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
    place = record.problem("", "seen_in")
    path = Path(place.path)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    last = first = place.line - 1
    while last + 1 < len(lines) and re.match(r"\s*- \{component:", lines[last + 1]):
        last += 1
    texts = [_text(one) for one in ranges]
    if lines[first].lstrip().startswith("- {"):
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        lines[first : last + 1] = [f"{indent}- {text}\n" for text in texts]
    else:
        inside = list(_RANGE.finditer(lines[first]))
        lines[first] = lines[first][: inside[0].start()] + ", ".join(texts) + lines[first][inside[-1].end() :]
    path.write_text("".join(lines), encoding="utf-8")


def _text(one: Version) -> str:
    ends = "".join(f", {name}: '{end}'" for name, end in (("since", one.since), ("until", one.until)) if end)
    return f"{{component: {one.component}{ends}, how: {one.how}}}"
