"""Joins what a probe saw with what the catalogue says about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from distkb.catalogue.model import Finding, Severity, Text
from distkb.evidence.border import fit, fit_observation
from distkb.evidence.observation import Observation
from distkb.probing.document import ProbeAnswer, RawDocument, Reported, Status
from distkb.probing.interpreter import Interpreter

_ORDER: dict[Severity | None, int] = {"error": 0, "warning": 1, "note": 2, None: 3}


def answer(
    raw: RawDocument,
    findings: Iterable[Finding],
    *,
    more: Iterable[Observation] = (),
    facts: Mapping[str, Any] | None = None,
    interpreter: Interpreter | None = None,
) -> ProbeAnswer:
    """Return the answer of a probe: its own findings, and `more` that distkb concluded from its facts.

    This is its border: all text is masked and plain from here on.
    """
    observations = _once(map(fit_observation, (*raw.observations(), *more)))
    known = {finding.id: finding for finding in findings}
    reported = sorted(
        (Reported(observation=o, finding=known.get(o.id) or _unknown(o.id)) for o in observations if o.present),
        key=lambda item: _ORDER[item.finding.severity],
    )
    wrong = any(item.finding.severity in ("error", "warning") for item in reported)
    status: Status = "findings" if wrong else raw.status
    return ProbeAnswer(
        probe=fit(raw.probe),
        status=status,
        reason=fit(raw.reason),
        detail=fit(raw.detail),
        reported=tuple(reported),
        observations=observations,
        facts=fit(dict(raw.facts if facts is None else facts)),
        interpreter=None if interpreter is None else (str(interpreter.path), interpreter.why),
        elapsed_s=raw.elapsed_s,
    )


def _once(observations: Iterable[Observation]) -> tuple[Observation, ...]:
    """Leave out what is said twice, and absences of what was found after all."""
    present: list[Observation] = []
    absent: dict[str, Observation] = {}
    for observation in observations:
        if not observation.present:
            absent.setdefault(observation.id, observation)
        elif all(
            (o.id, o.values, o.quotes) != (observation.id, observation.values, observation.quotes) for o in present
        ):
            present.append(observation)
    seen = {o.id for o in present}
    return (*present, *(o for o in absent.values() if o.id not in seen))


def _unknown(identity: str) -> Finding:
    """Stand in for a record that an older catalogue does not have."""
    return Finding(id=identity, means=Text(en=identity, ko=identity), severity="warning")
