"""What plain text search reaches on reports: the figure to hold the diagnosis against."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from distkb.catalogue.model import Entry, Text

_WORD = re.compile(r"[a-z0-9_]+|[가-힣]{2}")
_K1, _B = 1.2, 0.75


class Bm25:
    """BM25 over the words of each entry, Hangul in pairs of syllables, with no knowledge of the field.

    Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009), equation 3.11.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._ids = [entry.id for entry in entries]
        self._counts = [Counter(_words(" ".join(_texts(entry)))) for entry in entries]
        self._lengths = [counts.total() for counts in self._counts]
        self._mean = sum(self._lengths) / max(1, len(entries))
        holding = Counter(word for counts in self._counts for word in counts)
        self._weight = {word: math.log(1 + (len(entries) - n + 0.5) / (n + 0.5)) for word, n in holding.items()}

    def rank(self, report: str) -> list[str]:
        """Return the ids of all entries that share a word with the report, best first."""
        words = [word for word in set(_words(report)) if word in self._weight]
        scored = [
            (sum(self._score(word, index) for word in words), -index)
            for index in range(len(self._ids))
            if any(word in self._counts[index] for word in words)
        ]
        return [self._ids[-index] for _, index in sorted(scored, reverse=True)]

    def _score(self, word: str, index: int) -> float:
        count = self._counts[index][word]
        norm = 1 - _B + _B * self._lengths[index] / self._mean
        return self._weight[word] * count * (_K1 + 1) / (count + _K1 * norm)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _texts(entry: Entry) -> Iterable[str]:
    yield from (entry.id, *entry.aliases.en, *entry.aliases.ko)
    written: list[Text] = [entry.title, entry.summary, *entry.symptoms]
    for cause in entry.causes:
        written += [cause.title, cause.explanation]
        for fix in cause.fixes:
            written += [fix.title, *fix.steps]
    for text in written:
        yield from (text.en, text.ko)
