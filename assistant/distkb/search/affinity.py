"""How well a free-text report fits each entry, as soft evidence for a diagnosis.

The report is scored like a query: BM25 of its words, repeats damped, plus the likeness of its best sentence to each
entry's best passage. The scores become probabilities by a softmax whose sharpness was fitted on labelled reports and
grows with the number of telling words, so that a short or vague text says little.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from distkb.search.forms import concept_kind
from distkb.search.score import bag_scores, best_passages, strengths
from distkb.search.tokens import MAX_CHARS, pieces
from distkb.search.weights import weight

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from distkb.search.forms import Forms
    from distkb.search.index import Index
    from distkb.search.score import Strengths

CAP = 3.0
"""Largest weight in either direction, as a natural logarithm: a text never decides alone."""
SHARPNESS = 5.0
"""Factor of the scores in the softmax, for a text of many telling words."""
HALF_WORDS = 4.0
"""Number of different known words at which the sharpness is half of that."""
HALF_WORDS_OF_ERROR = 12.0
"""Number of different words at which an error's affinity counts half: `list index out of range` is anybody's."""
HALF_WORDS_OF_RUN = 25.0
"""The same of what a run prints of itself: `step 5 loss 0.5` is anybody's."""
LISTED = 4.0
"""Affinity of an error to the entry for which its library's message is listed."""
SENTENCE = 0.6
"""What the best sentence counts beside the words of the whole text."""
MAX_SENTENCES = 60
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def affinity(index: Index, text: str) -> dict[str, float]:
    """Weigh every entry against the average one: natural-log likelihood ratios within ±`CAP`.

    Accepts any string; what lies beyond `MAX_CHARS` is not read. A text without known words gives 0 for every entry.
    """
    text = text[:MAX_CHARS]
    known = strengths(index, damped_words(index, text))
    if not known or not index.ids:
        return dict.fromkeys(index.ids, 0.0)
    scores = _scores(index, text, known)
    sharpness = SHARPNESS * len(known) / (len(known) + HALF_WORDS)
    top = max(scores)
    mean = sum(math.exp(sharpness * (score - top)) for score in scores) / len(scores)
    average = top + math.log(mean) / sharpness
    return {
        id_: round(max(-CAP, min(CAP, sharpness * (score - average))), 6)
        for id_, score in zip(index.ids, scores, strict=True)
    }


def damped_words(index: Index, text: str) -> dict[str, float]:
    """Tokens and concepts of a text with their weights; n repeats count 1 + ln n."""
    return damped(index.forms, text)


def damped(forms: Forms, text: str) -> dict[str, float]:
    """Do so with the concepts of a glossary's forms."""
    return damp(weighted(forms, text))


def weighted(forms: Forms, text: str) -> Iterator[tuple[str, float]]:
    """Yield the tokens of a text, concepts last, each with the weight of its kind."""
    found = pieces(text)
    for piece in found:
        for token in piece.tokens:
            yield token.text, weight(token.kind)
    for concept in forms.tokens(found):
        yield concept, weight(concept_kind(concept))


def damp(words: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Sum words with their weights up so that n repeats count 1 + ln n."""
    counts: dict[str, int] = {}
    kinds: dict[str, float] = {}
    for word, kind in words:
        counts[word] = counts.get(word, 0) + 1
        kinds[word] = max(kinds.get(word, 0.0), kind)
    return {word: kinds[word] * (1.0 + math.log(count)) for word, count in counts.items()}


def _scores(index: Index, text: str, known: Strengths) -> list[float]:
    """Score of every entry for the text, in the order of the index."""
    bag = bag_scores(known)
    sentences: dict[int, float] = {}
    for sentence in [s for s in _SENTENCE.split(text) if s.strip()][:MAX_SENTENCES]:
        of_sentence = strengths(index, damped_words(index, sentence))
        for number, likeness in best_passages(index, of_sentence).items():
            sentences[number] = max(sentences.get(number, 0.0), likeness)
    return [bag.get(n, 0.0) + SENTENCE * sentences.get(n, 0.0) for n in range(len(index.ids))]
