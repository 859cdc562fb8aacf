"""Reads what probes have left behind: the documents `distkb.probe/1` and `distkb.probe-raw/1`."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from distkb.evidence.observation import Observation, Quote, absent
from distkb.evidence.text.clean import plain, quote_text

MOST_BYTES = 64 << 20
"""Size of a document that is read; a larger one is not ours."""
HEAD_BYTES = 256
_MARK = b'"distkb.probe'
_SCHEMAS = ("distkb.probe/1", "distkb.probe-raw/1")
_MOST_QUOTES = 6


class ProbePlace(msgspec.Struct, frozen=True):
    """A place that a probe points to, with its words."""

    text: str
    path: str | None = None
    line: int | None = None
    rank: int | None = None


class ProbeFinding(msgspec.Struct, frozen=True):
    """One finding: an id of the catalogue, and what fills its sentence."""

    id: str
    values: dict[str, str] = {}
    quotes: tuple[ProbePlace, ...] = ()
    evidence: tuple[ProbePlace, ...] = ()


class _Document(msgspec.Struct, frozen=True):
    schema: str
    found: tuple[ProbeFinding, ...] = ()
    findings: tuple[ProbeFinding, ...] = ()
    clear: tuple[str, ...] = ()


def is_probe_document(head: bytes) -> bool:
    """Whether the beginning of a file is that of a probe's document: `schema` is always the first key."""
    return head.lstrip().startswith(b"{") and _MARK in head[:HEAD_BYTES]


def read_document(data: bytes) -> tuple[Observation, ...] | None:
    """Return what a probe found and what it looked for in vain; None where the bytes are no whole document."""
    try:
        document = msgspec.json.decode(data, type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if document.schema not in _SCHEMAS:
        return None
    return observations((*document.found, *document.findings), document.clear)


def observations(items: Iterable[ProbeFinding], clear: Iterable[str]) -> tuple[Observation, ...]:
    """Return what was found and what was looked for in vain; all text is cleaned and masked."""
    return (*(_observation(item) for item in items), *absent(plain(name) for name in clear))


def _observation(item: ProbeFinding) -> Observation:
    places = (item.quotes or item.evidence)[:_MOST_QUOTES]
    return Observation(
        id=plain(item.id),
        source="probe",
        values={name: quote_text(value) for name, value in item.values.items()},
        quotes=tuple(
            Quote(
                text=quote_text(place.text),
                path=None if place.path is None else quote_text(place.path),
                line=place.line,
                rank=place.rank,
            )
            for place in places
        ),
    )
