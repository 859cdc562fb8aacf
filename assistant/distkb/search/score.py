"""Scores of entries for weighted words: BM25 over the whole entry, and the likeness of its best passage."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from distkb.search.forms import is_topic
from distkb.search.index import IMPACT_UNIT
from distkb.search.weights import OTHER_LANGUAGE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from distkb.catalogue.model import Language
    from distkb.search.index import Index, Term

_LANG_CODE = {"en": 1, "ko": 2}

Strengths = list[tuple["Term", float]]
"""Words of the index with their strengths: the weight in the query times the word's rarity."""


def strengths(index: Index, words: Mapping[str, float], concept_rarity: float = 0.0) -> Strengths:
    """Look up weighted words; those that the index does not have are left out.

    A concept counts as at least `concept_rarity` rare.
    """
    found: Strengths = []
    for word, value in words.items():
        term = index.term(word)
        if term is not None and value > 0.0:
            rarity = max(term.idf, concept_rarity) if is_topic(word) else term.idf
            found.append((term, value * rarity))
    return found


def bag_scores(known: Strengths) -> dict[int, float]:
    """BM25 of every entry that has one of the words, divided by the sum of strengths: at most K1 + 1."""
    scores: dict[int, float] = {}
    full = sum(strength for _, strength in known)
    for term, strength in known:
        share = strength / full * IMPACT_UNIT
        for number, impact in term.impacts:
            scores[number] = scores.get(number, 0.0) + share * impact
    return scores


def best_passages(index: Index, known: Strengths, lang: Language | None = None) -> dict[int, float]:
    """Likeness of each entry's best passage, from 0 to 1: the cosine over common words, times the passage's share.

    With `lang`, passages in the other language count a little less.
    """
    overlap: dict[int, float] = {}
    square = 0.0
    for term, strength in known:
        value = strength * strength
        square += value
        for (passage,) in term.passages:
            overlap[passage] = overlap.get(passage, 0.0) + value
    if square <= 0.0:
        return {}
    length = math.sqrt(square)
    wanted = _LANG_CODE.get(lang or "", 0)
    best: dict[int, float] = {}
    for passage, value in overlap.items():
        likeness = value * index.passage_norm[passage] / length
        spoken = index.passage_lang[passage]
        if wanted and spoken and spoken != wanted:
            likeness *= OTHER_LANGUAGE
        owner = index.passage_owner[passage]
        if likeness > best.get(owner, 0.0):
            best[owner] = likeness
    return best
