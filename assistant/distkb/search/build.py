"""Computes the index: field-weighted BM25 impacts of entries, passages, glossary forms, and signatures to try."""

from __future__ import annotations

import math
import re
import struct
from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from distkb.search import runs, wording
from distkb.search.affinity import weighted
from distkb.search.fields import FIELD_WEIGHT, PASSAGE_WEIGHT, cited, parts
from distkb.search.forms import Forms, is_topic
from distkb.search.index import FORMAT, MESSAGE, Payload, SignatureRow, pack_term
from distkb.search.literals import required_literals
from distkb.search.tokens import pieces, written_words
from distkb.search.weights import CONCEPT_RARITY, K1, TOUCH, B

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from distkb.catalogue.model import Catalogue, Entry, Signature
    from distkb.search.fields import FieldText

_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()/]")
_LANG_CODE = {"": 0, "en": 1, "ko": 2}
GAP = ".{0,300}"
"""What a program may put between two pieces of a message."""
MESSAGE_WEIGHT = 0.8
"""What a listed message counts beside a signature that an entry always shows."""
_ROLE_WEIGHT = {"primary": 1.0, "collateral": 0.35, "context": 0.25}


class _Passage(NamedTuple):
    owner: int
    lang: int
    share: float
    words: dict[str, float]


class _Bag:
    """Weighted word counts of one entry, field by field."""

    def __init__(self) -> None:
        self.counts: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        self.length: dict[str, float] = defaultdict(float)

    def add(self, part: FieldText, words: Iterable[tuple[str, float]]) -> None:
        for word, kind_weight in words:
            self.counts[part.field][word] += part.share * kind_weight
            self.length[part.field] += part.share * kind_weight


def payload_of(catalogue: Catalogue) -> Payload:
    """Compute the index of a catalogue."""
    forms = Forms.of_terms(catalogue.terms)
    signatures = {signature.id: signature for signature in catalogue.signatures}

    @cache  # entries cite the same signatures, so most texts come many times
    def words_of(text: str) -> list[tuple[str, float]]:
        return list(weighted(forms, text))

    bags: list[_Bag] = []
    passages: list[_Passage] = []
    for number, entry in enumerate(catalogue.entries):
        bag = _Bag()
        for part in parts(entry, signatures | {s.id: s for s in entry.signatures}):
            words = words_of(part.text)
            bag.add(part, words)
            share = PASSAGE_WEIGHT.get(part.field, 0.0) * (0.4 + 0.6 * part.share)
            if share and words:
                passages.append(_Passage(number, _LANG_CODE[part.lang], share, dict(words)))
        bags.append(bag)
    impacts = _impacts(bags)
    idf = _idf(impacts, len(bags))
    return Payload(
        format=FORMAT,
        ids=tuple(entry.id for entry in catalogue.entries),
        terms=_terms(impacts, passages, idf),
        passage_owner=struct.pack(f"<{len(passages)}H", *(p.owner for p in passages)),
        passage_lang=bytes(p.lang for p in passages),
        passage_norm=struct.pack(f"<{len(passages)}f", *(_norm(p, idf) for p in passages)),
        forms={atom: msgspec.Raw(group) for atom, group in forms.packed.items()},
        latin_words="\n".join(_latin_words(catalogue, signatures)),
        hangul_words="\n".join(_hangul_words(catalogue)),
        signatures=(*_signature_rows(catalogue.entries, signatures), *message_rows(catalogue)),
        related=_related(catalogue.entries),
        wording=msgspec.Raw(msgspec.msgpack.encode(wording.build(catalogue, words_of))),
        runs=msgspec.Raw(msgspec.msgpack.encode(runs.build(catalogue, words_of))),
        code=msgspec.Raw(msgspec.msgpack.encode(runs.build_code(catalogue))),
    )


def _related(entries: Iterable[Entry]) -> tuple[tuple[int, ...], ...]:
    entries = tuple(entries)
    numbers = {entry.id: number for number, entry in enumerate(entries)}
    return tuple(tuple(sorted({numbers[id_] for id_ in entry.related if id_ in numbers})) for entry in entries)


def _impacts(bags: list[_Bag]) -> dict[str, list[tuple[int, float]]]:
    """BM25F weight of every word in every entry that has it, without the word's rarity; at most K1 + 1."""
    mean = {f: sum(bag.length[f] for bag in bags) / max(1, len(bags)) or 1.0 for f in FIELD_WEIGHT}
    impacts: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for number, bag in enumerate(bags):
        frequency: dict[str, float] = defaultdict(float)
        for field, field_weight in FIELD_WEIGHT.items():
            scale = field_weight / (1.0 - B + B * bag.length[field] / mean[field])
            for word, count in bag.counts[field].items():
                frequency[word] += scale * count
        for word, value in frequency.items():
            impacts[word].append((number, value * (K1 + 1.0) / (value + K1)))
    return impacts


def _idf(impacts: Mapping[str, list[tuple[int, float]]], total: int) -> dict[str, float]:
    """Rarity of every word. An entry that only touches on a word counts as part of one that is about it."""
    idf: dict[str, float] = {}
    for word, rows in impacts.items():
        having = sum(max(TOUCH, impact / (K1 + 1.0)) for _, impact in rows)
        rarity = math.log(1.0 + (total - having + 0.5) / (having + 0.5))
        idf[word] = max(rarity, CONCEPT_RARITY) if is_topic(word) else rarity
    return idf


def _terms(
    impacts: Mapping[str, list[tuple[int, float]]], passages: list[_Passage], idf: Mapping[str, float]
) -> dict[str, msgspec.Raw]:
    inside: dict[str, list[int]] = defaultdict(list)
    for number, passage in enumerate(passages):
        for word in passage.words:
            inside[word].append(number)
    shelves: dict[str, dict[str, bytes]] = {}
    for word in sorted(impacts):
        shelves.setdefault(word[0], {})[word] = pack_term(idf[word], impacts[word], inside[word])
    return {first: msgspec.Raw(msgspec.msgpack.encode(shelf)) for first, shelf in shelves.items()}


def _norm(passage: _Passage, idf: Mapping[str, float]) -> float:
    """What a passage's overlap is multiplied with: its share over its length."""
    square = sum((w * idf[word]) ** 2 for word, w in passage.words.items())
    return passage.share / math.sqrt(square) if square > 0 else 0.0


def _latin_words(catalogue: Catalogue, signatures: Mapping[str, Signature]) -> tuple[str, ...]:
    """Written Latin words of four letters or more, for correcting typos."""
    texts = {form for term in catalogue.terms for form in (*term.forms.en, *term.forms.ko)}
    texts |= {part.text for entry in catalogue.entries for part in parts(entry, signatures)}
    return tuple(sorted({word for text in texts for word in written_words(text) if len(word) >= 4}))


def _hangul_words(catalogue: Catalogue) -> tuple[str, ...]:
    """Written Korean words of titles, aliases and glossary forms, for correcting typos."""
    texts = [form for term in catalogue.terms for form in term.forms.ko]
    for entry in catalogue.entries:
        texts += [entry.title.ko, *entry.aliases.ko]
    found = {p.text for text in texts for p in pieces(text) if p.hangul and len(p.text) >= 3}
    return tuple(sorted(found))


def message_rows(catalogue: Catalogue) -> Iterator[SignatureRow]:
    """Yield what the messages of libraries are told by: their two longest pieces, in order, in one line."""
    numbers = {entry.id: number for number, entry in enumerate(catalogue.entries)}
    for library in catalogue.messages:
        for id_, texts in library.messages.items():
            number = numbers.get(id_.partition(".")[0], -1)
            for text in texts if number >= 0 else ():
                pieces = [piece for part in text.split("{}") if (piece := part.strip())]
                longest = sorted(pieces, key=len)[-2:]
                pattern = GAP.join(_SPECIAL.sub(r"\\\g<0>", piece) for piece in pieces if piece in longest)
                if longest:
                    yield SignatureRow(MESSAGE, pattern, (longest[-1].lower(),), ((number, MESSAGE_WEIGHT),))


def _signature_rows(entries: Iterable[Entry], shared: Mapping[str, Signature]) -> tuple[SignatureRow, ...]:
    listed: dict[str, list[tuple[int, float]]] = defaultdict(list)
    known = dict(shared)
    for number, entry in enumerate(entries):
        known.update({s.id: s for s in entry.signatures})
        for signature_id, share in cited(entry).items():
            if signature_id in known:
                role = _ROLE_WEIGHT[known[signature_id].role]
                listed[signature_id].append((number, round(role * share, 4)))
    rows: list[SignatureRow] = []
    for signature_id in sorted(listed):
        signature = known[signature_id]
        literals = required_literals(signature.pattern)
        if literals:
            entries_of = tuple(listed[signature_id])
            rows.append(SignatureRow(signature_id, signature.pattern, literals, entries_of))
    return tuple(rows)
