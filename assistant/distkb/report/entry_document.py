"""An entry for programs: the document `distkb.entry/1`, with what each cause shows one observation at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from distkb.catalogue.model import (
    Confusion,
    Diagram,
    Family,
    Fix,
    Likelihood,
    Prior,
    Repro,
    Signature,
    Status,
)
from distkb.catalogue.records import Reference, Text, Version, Words

if TYPE_CHECKING:
    from distkb.catalogue import model


class Cue(msgspec.Struct):
    """How likely an observation is if the cause is the true one."""

    observation: str
    likelihood: Likelihood
    why: Text | None = None
    """Nothing any more: kept for those who read it."""


class Cause(msgspec.Struct):
    """One way in which the failure comes about."""

    id: str
    title: Text
    explanation: Text
    prior: Prior
    evidence: tuple[Cue, ...]
    fixes: tuple[Fix, ...]
    confused_with: tuple[Confusion, ...]


class Entry(msgspec.Struct):
    """One failure with one name: its symptoms, its causes, and what repairs each."""

    id: str
    slug: str
    family: Family
    status: Status
    since: str
    title: Text
    aliases: Words
    summary: Text
    diagram: Diagram | None
    symptoms: tuple[Text, ...]
    signatures: tuple[Signature, ...]
    causes: tuple[Cause, ...]
    does_not_help: tuple[Text, ...]
    related: tuple[str, ...]
    references: tuple[Reference, ...]
    applies_to: tuple[Version, ...]
    repro: Repro | None


def document(entry: model.Entry) -> Entry:
    """Return an entry as it is published."""
    return Entry(**_fields(entry, Entry, "causes"), causes=tuple(map(_cause, entry.causes)))


def _cause(cause: model.Cause) -> Cause:
    return Cause(**_fields(cause, Cause, "evidence"), evidence=tuple(Cue(*cue) for cue in cause.cues))


def _fields(record: msgspec.Struct, kind: type[msgspec.Struct], other: str) -> dict[str, Any]:
    """Return the fields of a record that another kind has too, but for one."""
    return {name: getattr(record, name) for name in kind.__struct_fields__ if name != other}
