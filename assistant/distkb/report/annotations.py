"""Findings at the lines of a repository: as GitHub's workflow commands, and as SARIF 2.1.0."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from distkb import __version__
from distkb.evidence.observation import Quote
from distkb.locale import Say
from distkb.probing.document import ProbeAnswer, Reported
from distkb.report.json import encode
from distkb.report.layout import clean
from distkb.report.probe import commands, remedy, sentence

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "distkb/v1"
_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}
_BLANKS = re.compile(r"\s+")


def located(path: str, root: Path) -> str:
    """Return a path as it is written in a repository: from its root, with slashes; others stay as they are."""
    given = Path(path)
    try:
        inside = (root / given).resolve().relative_to(root.resolve())
    except (OSError, ValueError, RuntimeError):
        return given.as_posix()
    return inside.as_posix()


def fingerprints(reported: Sequence[Reported], root: Path) -> list[str]:
    """Return for each finding what stays the same while lines move: id, file, the words of its line, which of them."""
    counts: Counter[tuple[str, ...]] = Counter()
    found: list[str] = []
    for one in reported:
        place = next(iter(one.observation.quotes), None)
        parts: tuple[str, ...] = (one.finding.id,)
        if place is not None:
            parts = (*parts, located(place.path or "", root), _BLANKS.sub(" ", place.text).strip())
        counts[parts] += 1
        found.append(hashlib.sha256("\0".join((*parts, str(counts[parts]))).encode()).hexdigest()[:32])
    return found


def _level(reported: Reported) -> str:
    return reported.finding.severity or "note"


def _told(reported: Reported, say: Say) -> str:
    """Return the sentence, what repairs it and the commands, as text of several lines."""
    entry = f" [{reported.finding.entry}]" if reported.finding.entry else ""
    lines = [sentence(reported, say.lang) + entry]
    repair = remedy(reported, say.lang)
    if repair:
        lines.append(say("probe.fix", fix=repair))
    lines += [line for command in commands(reported) for line in command.split("\n")]
    return "\n".join(map(clean, lines))


def github(answer: ProbeAnswer, say: Say, root: Path) -> str:
    """Return the commands by which a GitHub workflow shows each finding at its line."""
    return "".join(f"{_annotation(reported, say, root)}\n" for reported in answer.reported)


def _annotation(reported: Reported, say: Say, root: Path) -> str:
    place = next((q for q in reported.observation.quotes if q.path), None)
    properties: dict[str, object] = {"title": reported.finding.id}
    if place is not None:
        properties = {"file": located(place.path or "", root), "line": place.line or 1, **properties}
    named = ",".join(f"{name}={_escaped(str(value), in_property=True)}" for name, value in properties.items())
    return f"::{_GITHUB[_level(reported)]} {named}::{_escaped(_told(reported, say))}"


def _escaped(text: str, *, in_property: bool = False) -> str:
    """Return text as a workflow command takes it, so that no finding begins a command of its own."""
    for sign in ("%", "\r", "\n", *((":", ",") if in_property else ())):
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text


def sarif(answer: ProbeAnswer, say: Say, root: Path, held: Mapping[str, str] | None = None) -> str:
    """Return the findings as a SARIF log; `held` says by fingerprint why a comment in the file allows one."""
    rules: dict[str, dict[str, Any]] = {}
    for reported in answer.reported:
        rules.setdefault(reported.finding.id, _rule(reported, say))
    order = list(rules)
    driver = {
        "name": "distkb",
        "version": __version__,
        "language": say.lang,
        "rules": list(rules.values()),
    }
    marks = fingerprints(answer.reported, root)
    results = []
    for reported, mark in zip(answer.reported, marks, strict=True):
        found = {**_result(reported, order, say, root), "partialFingerprints": {FINGERPRINT: mark}}
        if held and mark in held:
            found["suppressions"] = [{"kind": "inSource", "justification": clean(held[mark])}]
        results.append(found)
    run = {"tool": {"driver": driver}, "columnKind": "utf16CodeUnits", "results": results}
    return encode({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(reported: Reported, say: Say) -> dict[str, Any]:
    finding = reported.finding
    means = finding.means.ko if say.lang == "ko" else finding.means.en
    return {
        "id": finding.id,
        "shortDescription": {"text": means},
        "defaultConfiguration": {"level": _level(reported)},
        "properties": {"tags": ["distributed-training", *([finding.entry] if finding.entry else [])]},
    }


def _result(reported: Reported, order: list[str], say: Say, root: Path) -> dict[str, Any]:
    places = [q for q in reported.observation.quotes if q.path]
    found: dict[str, Any] = {
        "ruleId": reported.finding.id,
        "ruleIndex": order.index(reported.finding.id),
        "level": _level(reported),
        "message": {"text": _told(reported, say)},
        "locations": [_location(place, root) for place in places[:1]],
    }
    if places[1:]:
        found["relatedLocations"] = [_location(place, root) for place in places[1:]]
    return found


def _location(place: Quote, root: Path) -> dict[str, Any]:
    path = located(place.path or "", root)
    artifact: dict[str, Any] = {"uri": f"file://{quote(path)}"}
    if not path.startswith("/"):
        artifact = {"uri": quote(path), "uriBaseId": "%SRCROOT%"}
    physical: dict[str, Any] = {"artifactLocation": artifact}
    if place.line is not None:
        physical["region"] = {"startLine": place.line, "snippet": {"text": clean(place.text)}}
    return {"physicalLocation": physical}
