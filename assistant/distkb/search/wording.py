"""How likely each entry's failure is told in a report's words: smoothed word statistics over its accounts and texts.

A unigram model with Dirichlet smoothing for each entry (Zhai and Lafferty, TOIS 22(2), 2004), as a log ratio to the
mixture of all entries. Where `affinity` finds the one passage that says the same, this weighs every word by how often
people use it for each failure.
"""

from __future__ import annotations

import math
import struct
from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

from distkb.search.affinity import damp
from distkb.search.fields import parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from distkb.catalogue.model import Catalogue

SMOOTHING = 2000.0
"""Weight of the mixture in every entry's statistics, in words."""
SHARPNESS = 0.1
"""Words of a text repeat what other words say: each counts this share of its log ratio."""
CAP = 4.0
"""Largest weight in either direction, as a natural logarithm."""
WORDING = 0.5
"""Weight of the statistics of words beside the likeness of passages: both read the same words."""
LEAST = 1e-3
"""Of the average entry's probability; below that no difference is made."""
FIELDS = frozenset({"title", "alias", "symptom", "summary", "cause", "explanation", "line"})
"""Parts of an entry that say what happens; fixes say what to do."""

_PAIR = struct.Struct("<HH")
UNIT = 1.0 / 4096.0


class Wording(msgspec.Struct, array_like=True, frozen=True):
    """The statistics, built once and kept in the search index."""

    bases: tuple[float, ...]
    """By entry: log ratio of a word that its texts do not have."""
    words: dict[str, bytes]
    """Word → pairs of an entry's number and by how much the log ratio is above the base, in units of 1/4096."""

    def weigh(self, words: Mapping[str, float], *, level: bool = False) -> list[float]:
        """Sum the log ratios of weighted words, by entry; words that no text has count nothing.

        `level`: what an entry's texts do not have tells against it at least as against the average one. Otherwise the
        entry of which least is told gains by every word of a long text that no entry has much of.
        """
        usual = sum(self.bases) / len(self.bases) if level and self.bases else 0.0
        bases = [min(base, usual) for base in self.bases]
        total = 0.0
        sums = [0.0] * len(self.bases)
        for word, weight in words.items():
            packed = self.words.get(word)
            if packed is None:
                continue
            total += weight
            for number, above in _PAIR.iter_unpack(packed):
                sums[number] += weight * above * UNIT
        return [total * base + above for base, above in zip(bases, sums, strict=True)]


def build(catalogue: Catalogue, weighted: Callable[[str], Iterable[tuple[str, float]]]) -> Wording:
    """Count the words of every entry's texts and accounts; `weighted` finds those of a text."""
    numbers = {entry.id: number for number, entry in enumerate(catalogue.entries)}
    texts = ((number, damp(weighted(text))) for number, text in _texts(catalogue, numbers))
    return against_all(counted(texts, len(numbers)))


Counts = list[dict[str, float]]
"""By number of what tells them, the words of some texts with their weights."""


def counted(texts: Iterable[tuple[int, Mapping[str, float]]], size: int) -> Counts:
    """Sum up the words of texts, each with the number of what it belongs to."""
    counts: Counts = [defaultdict(float) for _ in range(size)]
    for number, words in texts:
        for word, weight in words.items():
            counts[number][word] += weight
    return counts


def against_all(counts: Counts, smoothing: float = SMOOTHING) -> Wording:
    """Compare the words of each with those of all together."""
    expected = {word: smoothing * share for word, share in shares(counts).items()}
    return compared(counts, [expected] * len(counts), smoothing)


def shares(counts: Counts) -> dict[str, float]:
    """Return of each word its share in all of them."""
    everything = counted(((0, own) for own in counts), 1)[0]
    total = sum(everything.values())
    return {word: count / total for word, count in everything.items()}


def compared(counts: Counts, expected: Sequence[Mapping[str, float]], smoothing: float) -> Wording:
    """Compare the words of each with what is expected of it, in `smoothing` words."""
    pairs: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, own in enumerate(counts):
        for word, count in own.items():
            above = round(math.log1p(count / expected[number][word]) / UNIT)
            pairs[word].append((number, min(65535, above)))
    lengths = [sum(own.values()) for own in counts]
    return Wording(
        tuple(round(math.log(smoothing / (length + smoothing)), 6) for length in lengths),
        {word: b"".join(_PAIR.pack(*pair) for pair in pairs[word]) for word in sorted(pairs)},
    )


def _texts(catalogue: Catalogue, numbers: Mapping[str, int]) -> Iterable[tuple[int, str]]:
    for entry in catalogue.entries:
        own = {signature.id: signature for signature in entry.signatures}
        for part in parts(entry, own):
            if part.field in FIELDS:
                yield numbers[entry.id], part.text
    for account in catalogue.accounts:
        number = numbers.get(account.cause.partition(".")[0])
        if number is not None:
            yield number, account.text


def weights(sums: Mapping[str, float]) -> dict[str, float]:
    """Turn sums of log ratios into weights against the average entry, within ±`CAP`."""
    if not sums:
        return {}
    top = max(sums.values())
    shares = {key: math.exp(SHARPNESS * (value - top)) for key, value in sums.items()}
    average = sum(shares.values()) / len(shares)
    return {key: max(-CAP, min(CAP, math.log(share / average + LEAST))) for key, share in shares.items()}
