"""What a live check returns: findings with the ranks they are about, and facts."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any

from distkb_probes.live._ranks import spans

SCHEMA = "distkb.probe-raw/1"
PROBE = "live"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_LONGEST = 200
"""Characters of one value: names of parameters and messages of exceptions come from the job."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be. `values` fill the sentence that the catalogue has for `id`."""

    id: str
    values: Mapping[str, str]
    ranks: tuple[int, ...] = ()
    evidence: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Findings:
    """The result of one check, the same on every rank that took part."""

    check: str
    findings: tuple[Finding, ...] = ()
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    clear: tuple[str, ...] = ()
    """What was looked for and is not there."""
    reason: str | None = None
    """Why the ranks were not compared, or not all: `not-initialised`, `no-store`, `ranks-missing`, `came-late`, …"""
    elapsed_s: float = 0.0

    @property
    def ok(self) -> bool:
        """True where nothing was found."""
        return not self.findings

    def as_json(self) -> dict[str, Any]:
        """Return the result as the raw document of a probe, for `json.dump`."""
        return as_document([self])


def finding(
    identity: str,
    *,
    ranks: Iterable[int] = (),
    evidence: Iterable[str] = (),
    values: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """Return a finding as it travels between the ranks: JSON, one line per value, no control characters.

    The value `ranks` is put in here: `0-3,7`.
    """
    who = sorted(ranks)
    return {
        "id": identity,
        "values": {"ranks": spans(who), **{name: clean(value) for name, value in (values or {}).items()}},
        "ranks": who,
        "evidence": [clean(line) for line in evidence],
    }


def received(raw: Mapping[str, Any]) -> Finding:
    """Return a finding that arrived as JSON."""
    return Finding(raw["id"], dict(raw["values"]), tuple(raw["ranks"]), tuple(raw["evidence"]))


def clean(value: object) -> str:
    """Return the value as one short line without control characters."""
    text = _CONTROL.sub(" ", str(value)).strip()
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def as_document(results: Iterable[Findings]) -> dict[str, Any]:
    """Return several results as one raw document. A finding repeated with the same values is kept once.

    Facts and reason are the latest.
    """
    found: dict[str, dict[str, Any]] = {}
    clear: list[str] = []
    facts: dict[str, Any] = {}
    reason, elapsed = None, 0.0
    for result in results:
        for item in result.findings:
            found.setdefault(f"{item.id} {sorted(item.values.items())}", _raw(item))
        clear += [identity for identity in result.clear if identity not in clear]
        facts.update(result.facts)
        reason = result.reason
        elapsed += result.elapsed_s
    ids = {item["id"] for item in found.values()}
    return {
        "schema": SCHEMA,
        "probe": PROBE,
        "status": "ok",
        "reason": reason,
        "detail": "",
        "found": list(found.values()),
        "clear": [identity for identity in clear if identity not in ids],
        "facts": facts,
        "elapsed_s": round(elapsed, 3),
    }


def _raw(item: Finding) -> dict[str, Any]:
    quotes = [{"text": line, "path": None, "line": None, "rank": None} for line in item.evidence]
    return {"id": item.id, "values": dict(item.values), "quotes": quotes}
