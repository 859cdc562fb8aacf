"""Answers a query: an entry's id, words in either language, a pasted error line, a variable's name, with typos."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from distkb.search.correct import correct_hangul, correct_latin
from distkb.search.forms import CONCEPT, concept_kind
from distkb.search.index import MESSAGE
from distkb.search.keyboard import retyped
from distkb.search.score import bag_scores, best_passages, strengths
from distkb.search.tokens import MAX_CHARS, normalise, pieces, stem, written_words
from distkb.search.weights import (
    ASKED_RARITY,
    CORRECTED,
    COVERED,
    FIRST,
    JUST_BELOW,
    PASSAGE,
    RELATED,
    SIGNATURE,
    weight,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from distkb.catalogue.model import Language
    from distkb.search.index import Index, SignatureRow
    from distkb.search.tokens import Piece

_ID = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z]{1,3}\d{1,3}(?![A-Za-z0-9_])")
"""An entry's id is a word of its own: the d2 in an address such as 0x5c1d2e70, or in d2h, is none."""
MAX_CORRECTIONS = 6


class Hit(NamedTuple):
    """An entry that answers a query. Scores compare within one query only."""

    id: str
    score: float


def search(index: Index, query: str, limit: int = 10, lang: Language | None = None) -> list[Hit]:
    """Rank the entries that answer a query, best first, ties by id.

    Named ids come first. Entries that nothing of the query speaks for are left out. `lang` is the reader's
    language: if the query is not in Korean, texts in that language count a little more. Accepts any string; what
    lies beyond `MAX_CHARS` is not read.
    """
    query = retyped(index, query[:MAX_CHARS])
    scores = rank(index, query_words(index, query), None if _has_hangul(query) else lang)
    for number, boost in signature_boosts(index, query).items():
        scores[number] = scores.get(number, 0.0) + boost
    lift_related(index, scores)
    top = max(scores.values(), default=0.0)
    for place, number in enumerate(named_entries(index, query)):
        scores[number] = top + 10.0 - place * 0.01
    order = sorted(scores, key=lambda number: (-scores[number], number))
    return [Hit(index.ids[n], round(scores[n], 6)) for n in order[: max(0, limit)] if scores[n] > 0.0]


def lift_related(index: Index, scores: dict[int, float]) -> None:
    """Let what the first entries name as related come before what has only words in common with the query.

    The first stay where they are.
    """
    first = sorted(scores, key=lambda number: (-scores[number], number))[:FIRST]
    if len(first) < FIRST:
        return
    most = JUST_BELOW * scores[first[-1]]
    gains: dict[int, float] = {}
    for number in first:
        for related in index.related[number]:
            if related in scores and related not in first:
                gains[related] = max(gains.get(related, 0.0), RELATED * scores[number])
    for number, gain in gains.items():
        scores[number] = max(scores[number], min(most, scores[number] + gain))


def _has_hangul(text: str) -> bool:
    return not text.isascii() and any("가" <= char <= "힣" for char in text)


def named_entries(index: Index, query: str) -> list[int]:
    """Numbers of the entries that the query names by id, in the order named."""
    numbers = {entry_id.upper(): number for number, entry_id in enumerate(index.ids)}
    named = [numbers.get(m.group().upper()) for m in _ID.finditer(normalise(query))]
    return [n for n in dict.fromkeys(named) if n is not None]


def query_words(index: Index, query: str) -> dict[str, float]:
    """Tokens of a query with their weights: its own, its concepts, and those of corrected typos."""
    found = pieces(query)
    words: dict[str, float] = {}
    covered = _add_words(index, words, found, 1.0)
    corrections = 0
    for number, piece in enumerate(found):
        if number in covered or corrections >= MAX_CORRECTIONS or not _is_unknown(index, piece):
            continue
        corrected = correct_hangul(index, piece.text) if piece.hangul else _correct_chunk(index, piece)
        if corrected is not None:
            corrections += 1
            _add_words(index, words, pieces(corrected), CORRECTED)
    return words


def _add_words(index: Index, words: dict[str, float], found: list[Piece], factor: float) -> set[int]:
    """Add the tokens and concepts of pieces; return the numbers of the pieces that a concept covers."""
    covered: set[int] = set()
    for match in index.forms.find(found):
        covered.update(range(match.first, match.last + 1))
        for concept in match.concepts:
            name = CONCEPT + concept
            words[name] = max(words.get(name, 0.0), factor * weight(concept_kind(name)))
    for number, piece in enumerate(found):
        share = factor * (COVERED if number in covered else 1.0)
        if piece.hangul and piece.tokens:
            # A word of many syllables is still one word, however many pairs it gives.
            share /= math.sqrt(len(piece.tokens))
        for token in piece.tokens:
            words[token.text] = max(words.get(token.text, 0.0), share * weight(token.kind))
    return covered


def _is_unknown(index: Index, piece: Piece) -> bool:
    """Whether the index lacks a Latin word, or half of the pairs of a Korean one."""
    if not piece.tokens or piece.tokens[0].kind == "weak":
        return False
    if piece.hangul:
        return 2 * sum(token.text not in index for token in piece.tokens) >= len(piece.tokens)
    return piece.tokens[0].text not in index


def _correct_chunk(index: Index, piece: Piece) -> str | None:
    """Correct every unknown part of a Latin chunk; None if there is nothing to correct."""
    written = written_words(piece.text)
    corrected = [word if stem(word) in index else correct_latin(index, word) or word for word in written]
    return "_".join(corrected) if corrected != written else None


def rank(index: Index, words: Mapping[str, float], lang: Language | None = None) -> dict[int, float]:
    """Score entries by weighted words: BM25 plus the likeness of the best passage."""
    known = strengths(index, words, ASKED_RARITY)
    best = best_passages(index, known, lang)
    return {number: score + PASSAGE * best.get(number, 0.0) for number, score in bag_scores(known).items()}


def signature_boosts(index: Index, query: str) -> dict[int, float]:
    """What the signatures that match the query add to the entries that list them; the strongest counts."""
    boosts: dict[int, float] = {}
    for row in _matching(index.signatures, query):
        for number, share in row.entries:
            boosts[number] = max(boosts.get(number, 0.0), SIGNATURE * share)
    return boosts


def listed(index: Index, error: str) -> set[str]:
    """Return the entries for which a library's message is listed that this error is."""
    rows = _matching((row for row in index.signatures if row.id == MESSAGE), error)
    return {index.ids[number] for row in rows for number, _ in row.entries}


def _matching(rows: Iterable[SignatureRow], text: str) -> Iterator[SignatureRow]:
    lowered = text.lower()
    lines = text.splitlines()
    for row in rows:
        if any(literal in lowered for literal in row.literals):
            pattern = re.compile(row.pattern)
            if any(pattern.search(line) for line in lines):
                yield row
