"""The numbers of the ranking, in one place."""

from __future__ import annotations

K1 = 3.0
"""How soon more occurrences of a word stop adding to an entry's score."""
B = 0.4
"""How much a field's length, relative to the average, damps its words."""

TOUCH = 0.3
"""Least share with which an entry that has a word counts towards the word's frequency."""

CONCEPT_RARITY = 0.6
"""Least rarity of a glossary concept: it is a word of the field even where every entry has it."""
ASKED_RARITY = 1.4
"""The same for a concept in a query, which has few words: there a concept says more than the words around it."""

_KIND = {
    "word": 1.0,
    "weak": 0.35,
    "whole": 1.3,
    "part": 0.5,
    "number": 0.35,
    "pair": 0.6,
    "single": 0.6,
    "concept": 1.3,
    "generic": 0.3,
}

PASSAGE = 0.9
"""What the likeness to an entry's best passage counts beside the entry's BM25 score, both from 0 to 1."""
SIGNATURE = 1.5
"""What a matched signature adds to an entry that always shows it."""
CORRECTED = 0.7
"""What a word counts that was found by correcting a typo."""
COVERED = 0.7
"""What a word counts in a query beside the concept that it names."""
FIRST = 3
"""The entries ahead of all others, whatever they name as related."""
RELATED = 0.2
"""What an entry gains, in shares of the score of one of the first that names it as related."""
JUST_BELOW = 0.999
"""The share of the last of the first that another entry gets to by that at most."""
OTHER_LANGUAGE = 0.97
"""What a passage in another language than the reader's counts: it breaks near ties only."""


def weight(kind: str) -> float:
    """How much a token of this kind counts."""
    return _KIND[kind]
