"""Looks every claim up in every package, and writes what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from distkb.catalogue.verified import FILE, Looked, Packages, Spans, Verified, mark, spans
from distkb.verify.claims import DECLARED, claims
from distkb.verify.defaults import declared
from distkb.verify.look import Finder
from distkb.verify.packages import PackageError, package, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from distkb.catalogue.model import Catalogue
    from distkb.verify.claims import Claim
    from distkb.verify.look import Found, Wording
    from distkb.verify.packages import Kind

Held = dict[str, dict["Wording", "Found"]]
"""By version, what one kind of package holds."""
BETWEEN = " … "


def look_up(
    catalogue: Catalogue,
    kinds: Sequence[Kind],
    cache: Path,
    told: Callable[[Path, int], None],
    failed: Callable[[Kind, PackageError], None],
    before: Verified | None,
) -> Verified:
    """Look into packages of these kinds; of others, and of those that cannot be had, what was found before is kept.

    Of a kind that no claim is about only the newest package is listed: there are messages to look for in it.
    """
    names = {kind.name for kind in kinds}
    packages = {name: held for name, held in (before.packages if before else {}).items() if name not in names}
    wanted = claims(catalogue, [held.component for held in packages.values()] + [kind.component for kind in kinds])
    found: dict[str, Held] = {}
    known = {setting.id for setting in catalogue.settings} | {timer.id for timer in catalogue.timers}
    defaults = {name: dict(by_kind) for name, by_kind in (before.defaults if before else {}).items()}
    for kind in kinds:
        own = [claim for claim in wanted if kind.component in claim.components]
        if not kind.declares:
            own = [claim for claim in own if not claim.id.startswith(DECLARED)]
        try:
            listed = versions(kind, cache)[0 if own else -1 :]
            seen = _look_into(kind, listed, own, cache, told)
            declares = _declared(kind, listed, cache) if own and kind.declares else None
        except PackageError as problem:
            failed(kind, problem)
            if before and kind.name in before.packages:
                packages[kind.name] = before.packages[kind.name]
            continue
        packages[kind.name] = Packages(component=kind.component, versions=tuple(listed))
        if own:
            found[kind.name] = seen
        if declares is not None:
            for name in known & (declares.keys() | defaults.keys()):
                defaults.setdefault(name, {})[kind.name] = declares.get(name, {})
    old = before.claims if before else {}
    return Verified(
        packages=dict(sorted(packages.items())),
        claims={
            claim.id: _looked(claim, found, packages, old.get(claim.id))
            for claim in sorted(wanted, key=lambda claim: claim.id)
        },
        defaults={
            name: held
            for name in sorted(defaults)
            if (held := {kind: values for kind, values in sorted(defaults[name].items()) if values})
        },
    )


def write(directory: Path, verified: Verified) -> None:
    """Write the results beside the knowledge base that they are about, one line for each package and claim."""
    tables = msgspec.to_builtins(verified, order="deterministic")
    parts = []
    for table, rows in tables.items():
        lines = [f"  {_json(name)}: {_json(row)}" for name, row in rows.items()]
        parts.append(f" {_json(table)}: {{\n" + ",\n".join(lines) + "\n }")
    (directory / FILE).write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _look_into(
    kind: Kind, listed: Sequence[str], own: Sequence[Claim], cache: Path, told: Callable[[Path, int], None]
) -> Held:
    finder = Finder(own) if own else None
    held: Held = {}
    for version in listed:
        path = package(kind, version, cache)
        held[version] = finder.look(path) if finder else {}
        told(path, sum(found == "whole" for found in held[version].values()))
    return held


def _declared(kind: Kind, listed: Sequence[str], cache: Path) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the defaults by setting, with the versions that declare each of them."""
    held: dict[str, dict[str, list[str]]] = {}
    for version in listed:
        for name, value in declared(package(kind, version, cache)).items():
            held.setdefault(name, {}).setdefault(value, []).append(version)
    return {
        name: {value: spans(versions, listed) for value, versions in sorted(values.items())}
        for name, values in held.items()
    }


def _looked(claim: Claim, found: dict[str, Held], packages: dict[str, Packages], old: Looked | None) -> Looked:
    fixed = mark(claim.fixed)
    kept = {name: spans for name, spans in old.found.items() if name in packages} if old and old.fixed == fixed else {}
    for name, held in found.items():
        kept.pop(name, None)
        by_wording = {BETWEEN.join(wording): _spans(claim.id, wording, held) for wording in claim.wordings}
        seen = {wording: one for wording, one in by_wording.items() if one.whole}
        if seen:
            kept[name] = seen
    return Looked(fixed=fixed, found=dict(sorted(kept.items())))


def _spans(identity: str, wording: tuple[str, ...], held: Held) -> Spans:
    listed = list(held)
    by_kind = {
        kind: [version for version in listed if held[version].get((identity, wording)) == kind]
        for kind in ("whole", "part")
    }
    return Spans(whole=spans(by_kind["whole"], listed), part=spans(by_kind["part"], listed))
