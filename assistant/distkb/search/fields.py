"""What of an entry is searched, and how much each part counts.

An entry is seen in two ways: as one bag of words with weighted fields, and as passages, each of which says the whole
thing once (a title, an alias, a symptom, a printed line).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from distkb.catalogue.model import PROBABILITY
from distkb.search.literals import literal_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from distkb.catalogue.model import Entry, Signature, Text

FIELD_WEIGHT: dict[str, float] = {
    "name": 2.0,
    "title": 3.0,
    "alias": 2.5,
    "symptom": 2.0,
    "summary": 1.5,
    "cause": 2.0,
    "explanation": 1.0,
    "line": 1.2,
    "means": 0.8,
    "fix": 0.7,
    "futile": 0.5,
}
"""How much an occurrence in each field counts."""

PASSAGE_WEIGHT: dict[str, float] = {
    "title": 1.0,
    "alias": 1.0,
    "symptom": 1.0,
    "summary": 0.8,
    "cause": 0.9,
    "line": 0.9,
    "means": 0.7,
    "fix": 0.6,
}
"""How much the likeness of one passage of each field counts; other fields have no passages."""


class FieldText(NamedTuple):
    """A text of an entry: its field, its language ("" where it has none), and its share of the field's weight."""

    field: str
    text: str
    lang: str = ""
    share: float = 1.0


def parts(entry: Entry, signatures: Mapping[str, Signature]) -> Iterator[FieldText]:
    """Yield every searched text of an entry, those of the signatures that its causes cite included."""
    yield FieldText("name", f"{entry.id} {entry.slug.replace('-', ' ')} {entry.family}")
    yield from _both("title", entry.title)
    yield from (FieldText("alias", alias, "en") for alias in entry.aliases.en)
    yield from (FieldText("alias", alias, "ko") for alias in entry.aliases.ko)
    yield from _both("summary", entry.summary)
    for symptom in entry.symptoms:
        yield from _both("symptom", symptom)
    for cause in entry.causes:
        yield from _both("cause", cause.title)
        yield from _both("explanation", cause.explanation)
        for fix in cause.fixes:
            yield from _both("fix", fix.title)
            for step in fix.steps:
                yield from _both("fix", step, share=0.6)
            yield from (FieldText("fix", command, share=0.6) for command in fix.commands)
            if fix.code is not None:
                yield FieldText("fix", fix.code.before, share=0.6)
                yield FieldText("fix", fix.code.after, share=0.6)
    for text in entry.does_not_help:
        yield from _both("futile", text)
    for signature_id, share in cited(entry).items():
        signature = signatures.get(signature_id)
        if signature is not None:
            yield from _signature_parts(signature, share)


def cited(entry: Entry) -> dict[str, float]:
    """Map the signatures of an entry to how likely it shows them: the best word over its causes."""
    shares = {signature.id: 0.2 for signature in entry.signatures}
    for cause in entry.causes:
        for evidence in cause.cues:
            if "=" not in evidence.observation:
                probability = PROBABILITY[evidence.likelihood]
                shares[evidence.observation] = max(shares.get(evidence.observation, 0.0), probability)
    return shares


def _both(field: str, text: Text, *, share: float = 1.0) -> Iterator[FieldText]:
    yield FieldText(field, text.en, "en", share)
    yield FieldText(field, text.ko, "ko", share)


def _signature_parts(signature: Signature, share: float) -> Iterator[FieldText]:
    if signature.role != "primary":
        share *= 0.5
    if signature.example:
        yield FieldText("line", signature.example, share=share)
    # A cue lists many ways to say one thing, of which a query holds one; a message has all its words at once.
    cue = signature.where == ("report",)
    yield FieldText("line", literal_text(signature.pattern), share=share * (0.5 if cue else 1.0))
    yield from _both("means", signature.means, share=share)
