"""Typo correction: the word of the index that a mistyped word stands for.

Latin words are compared letter by letter as they are written, Korean words jamo by jamo, so that one wrong vowel in a
long word is a small difference. rapidfuzz is imported only when there is an unknown word to compare.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distkb.search.index import Index

_MIN_LATIN = 4
_MAX_LATIN = 32
_MIN_HANGUL = 3
_MAX_HANGUL = 12
_LONGEST_PARTICLE = 3


def correct_latin(index: Index, word: str) -> str | None:
    """Find the written word one typo away (two from nine letters on); None if there is none.

    The word is in lower case and not stemmed. First and last letters have to agree: what differs there is mostly
    another word, not a typo. Words with digits are left alone: `fp8` is no typo of `fp16`.
    """
    if not (_MIN_LATIN <= len(word) <= _MAX_LATIN and word.isascii() and word.isalpha()):
        return None
    from rapidfuzz.distance import OSA

    limit = 1 if len(word) < 9 else 2
    best: tuple[int, str] | None = None
    for candidate in index.latin_words:
        if candidate[0] != word[0] or candidate[-1] != word[-1] or abs(len(candidate) - len(word)) > limit:
            continue
        distance = OSA.distance(word, candidate, score_cutoff=limit)
        if distance <= limit and (best is None or (distance, candidate) < best):
            best = (distance, candidate)
    return best[1] if best else None


def correct_hangul(index: Index, run: str) -> str | None:
    """Find the Korean word that a run of three to twelve syllables is a typo of, particle included; None if none.

    One jamo in seven may differ. What follows the word in the run may be a particle of up to three syllables.
    """
    if not _MIN_HANGUL <= len(run) <= _MAX_HANGUL:
        return None
    from rapidfuzz.distance import OSA

    best: tuple[float, str] | None = None
    heads = {size: _jamo(run[:size]) for size in range(max(2, len(run) - _LONGEST_PARTICLE), len(run) + 1)}
    initial = _jamo(run)[0]
    for word in index.hangul_words:
        head = heads.get(len(word))
        if head is None:
            continue
        jamo = _jamo(word)
        limit = max(1, len(jamo) // 7)
        if jamo[0] != initial:
            continue
        distance = OSA.distance(head, jamo, score_cutoff=limit)
        if distance <= limit and (best is None or (distance / len(jamo), word) < best):
            best = (distance / len(jamo), word)
    return best[1] if best else None


def _jamo(text: str) -> str:
    return unicodedata.normalize("NFD", text)
