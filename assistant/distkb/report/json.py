"""The diagnosis for programs: the document `distkb.diagnosis/1`."""

from __future__ import annotations

from typing import Any

import msgspec

from distkb.catalogue.model import Text
from distkb.diagnosis.model import Contribution, Diagnosis, NextStep, RankedCause
from distkb.evidence.observation import Quote, RankState, RunState
from distkb.evidence.text.clean import visible
from distkb.locale import LANGUAGES, Say
from distkb.report.decided import decided
from distkb.report.layout import clean
from distkb.report.meaning import Meanings
from distkb.report.story import tell

SCHEMA = "distkb.diagnosis/1"


def write(diagnosis: Diagnosis, meanings: Meanings) -> str:
    """Return the diagnosis as one JSON document."""
    return encode(document(diagnosis, meanings))


def encode(value: Any) -> str:
    """Return any document as indented JSON with one line break at its end."""
    data = msgspec.json.encode(_fit(msgspec.to_builtins(value)))
    return msgspec.json.format(data, indent=2).decode() + "\n"


def _fit(value: Any) -> Any:
    """Return plain data in which no text, such as the name of a file, misleads a terminal or cannot be encoded."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return {_text(key): item if type(item) in _NUMBERS else _fit(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_fit(item) for item in value]
    return value


def _text(text: Any) -> Any:
    return text if not isinstance(text, str) or (text.isascii() and text.isprintable()) else visible(text)


_NUMBERS = (int, float, bool, type(None))


def document(diagnosis: Diagnosis, meanings: Meanings) -> dict[str, Any]:
    """Return the diagnosis as plain data: all causes, most probable first, each with what moved it; and the run."""
    return {
        "schema": SCHEMA,
        "causes": [_cause(ranked) for ranked in diagnosis.causes],
        "other": _rounded(diagnosis.other),
        "decided": _decided(diagnosis),
        "next": _next(diagnosis.next),
        "fix": None if diagnosis.fix is None else msgspec.to_builtins(diagnosis.fix),
        "skipped": [{"path": clean(s.path), "reason": s.code} for s in diagnosis.evidence.skipped],
        "verdict": diagnosis.verdict,
        "headline": {lang: tell(diagnosis.evidence, meanings, Say(lang)) for lang in LANGUAGES},
        "ranks": [_rank(one) for one in diagnosis.evidence.ranks],
        "runs": [_run(one) for one in diagnosis.evidence.runs],
        "endings": [
            {"observation": o.id, **_place(quote)}
            for o in diagnosis.evidence.observations
            if o.present and meanings.is_ending(o)
            for quote in o.quotes[:1]
        ],
        "remedy": _remedy(diagnosis, meanings),
    }


def _run(one: RunState) -> dict[str, Any]:
    return {**msgspec.to_builtins(one), "name": clean(one.name)}


def _rank(one: RankState) -> dict[str, Any]:
    return {
        "rank": one.rank,
        "certainty": one.certainty,
        "state": one.state,
        "place": clean(one.place),
        "last": _place(one.last) if one.last else None,
        "sources": [clean(path) for path in one.sources],
    }


def _cause(ranked: RankedCause) -> dict[str, Any]:
    return {
        "entry": ranked.entry.id,
        "cause": ranked.cause.id,
        "probability": _rounded(ranked.probability),
        "title": both(ranked.cause.title),
        "evidence": [_evidence(contribution) for contribution in ranked.evidence],
    }


def _evidence(contribution: Contribution) -> dict[str, Any]:
    observation = contribution.observation
    return {
        "observation": observation.id,
        "present": observation.present,
        "weight": round(contribution.weight, 4),
        **_place(observation.quotes[0] if observation.quotes else None),
        **({"supposes": observation.supposes} if observation.supposes else {}),
    }


def _remedy(diagnosis: Diagnosis, meanings: Meanings) -> dict[str, Any] | None:
    """Return what the finding behind the first cause says to change."""
    found = diagnosis.remedy
    if found is None:
        return None
    return {
        "observation": found.id,
        "text": {lang: meanings.remedy(found, Say(lang)) for lang in LANGUAGES},
        **_place(found.quotes[0] if found.quotes else None),
    }


def _decided(diagnosis: Diagnosis) -> dict[str, Any] | None:
    """Return which of several kinds of source told the first cause from the others, and where it says so."""
    found = decided(diagnosis)
    if found is None:
        return None
    return {"source": found.source, "weight": round(found.weight, 4), **_place(found.quote)}


def _place(quote: Quote | None) -> dict[str, Any]:
    path = quote.path if quote else None
    return {
        "path": None if path is None else clean(path),
        "line": quote.line if quote else None,
        "quote": clean(quote.text) if quote else None,
    }


def _next(step: NextStep | None) -> dict[str, Any] | None:
    if step is None:
        return None
    if step.step is not None:
        identity, text = step.step.id, both(step.step.text)
    elif step.fix is not None:
        identity, text = step.fix.id, both(step.fix.title)
    else:
        return None
    return {"kind": step.kind, "id": identity, "text": text, "gain_bits": round(step.gain_bits, 4)}


def both(text: Text) -> dict[str, str]:
    """Return a text in both languages."""
    return {"en": text.en, "ko": text.ko}


def _rounded(probability: float) -> float:
    return round(probability, 6)
