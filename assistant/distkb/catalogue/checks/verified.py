"""The version ranges that people wrote agree with what was looked up in released packages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distkb.catalogue import verified
from distkb.catalogue.problem import Problem
from distkb.catalogue.source import INVALID, read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from distkb.catalogue.load import Loaded, Located
    from distkb.catalogue.verified import Difference, Verified


def check_verified(loaded: Loaded) -> Iterator[Problem]:
    """Report ranges that a package contradicts, and explanations that nothing needs any more."""
    for layer, directory in enumerate(loaded.directories):
        results = verified.read(directory)
        if results is not None:
            explained, found = explanations(directory)
            yield from found
            needed: set[str] = set()
            for record in loaded.records:
                if record.layer == layer:
                    for name, problem in _record(record, results):
                        needed.add(name)
                        if name not in explained:
                            yield problem
            yield from _left_over(directory, explained, needed)


def _record(record: Located, results: Verified) -> Iterator[tuple[str, Problem]]:
    """Yield each contradiction with the name under which it may be explained."""
    value = record.value
    if record.kind == "signature":
        yield from _claim(record, results, value.id, value.pattern, value.seen_in, ("seen_in",))
    elif record.kind in ("setting", "timer"):
        if record.kind == "setting":
            yield from _claim(record, results, value.id, value.id, value.read_by, ("read_by",))
        for (component, default), versions in verified.other_defaults(value, results).items():
            where = f"{component} {versions[0]}" + (f" to {versions[-1]}" if len(versions) > 1 else "")
            name = f"{value.id}:default"
            yield name, record.problem(f"the default of '{value.id}' is {default!r} in {where}", "defaults")
    elif record.kind == "names":
        for index, name in enumerate(value.names):
            yield from _claim(record, results, f"{value.id}:{name}", name, (value,), ("names", index))


def _claim(
    record: Located, results: Verified, name: str, fixed: str, ranges: tuple[Any, ...], at: tuple[str | int, ...]
) -> Iterator[tuple[str, Problem]]:
    looked = results.claims.get(name)
    if looked is None:
        return
    if looked.fixed != verified.mark(fixed):
        message = f"'{name}' reads otherwise than when it was looked up: run distkb kb verify"
        yield name, record.problem(message, *at, warning=True)
        return
    for difference in verified.differences(looked, ranges, results.packages):
        yield name, record.problem(said(name, difference), *at)
    for one in ranges:
        held = verified.presence(looked, one.component, results.packages)[0]
        if getattr(one, "how", "") == "report" and held and verified.may_hold(one, results.packages):
            message = f"'{name}' stands in {one.component} {held[0]}, and its range is that of a report"
            yield name, record.problem(message, *at)


def said(name: str, difference: Difference) -> str:
    """Return what is wrong with the ranges of one component."""
    parts = [
        f"{what} {difference.component} {versions[0]}" + (f" to {versions[-1]}" if len(versions) > 1 else "")
        for what, versions in (("it is also in", difference.also), ("it is not in", difference.missing))
        if versions
    ]
    return f"the packages say otherwise of '{name}': {', and '.join(parts)}"


def explanations(directory: Path) -> tuple[dict[str, str], list[Problem]]:
    """Return the reasons by id for what packages cannot show, and what is wrong with their file."""
    path = directory / verified.EXPLAINED
    if not path.is_file():
        return {}, []
    document, problems = read(path)
    if document.value is INVALID or not isinstance(document.value, dict):
        return {}, problems or [Problem(str(path), 1, 1, "the file must hold a reason for each id")]
    return document.value, problems


def _left_over(directory: Path, explained: dict[str, str], needed: set[str]) -> Iterator[Problem]:
    path = directory / verified.EXPLAINED
    for name in explained:
        if name not in needed:
            yield Problem(str(path), 1, 1, f"no package contradicts '{name}': the explanation is not needed")
