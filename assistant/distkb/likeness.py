"""How well words fit the catalogue: those of a report, of an error, and of what a run prints and its scripts say."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterable, Mapping

import msgspec

from distkb.evidence.observation import Quote
from distkb.evidence.readers.report.failure_text import FAILURE_SHARE, failure_text, unprinted
from distkb.evidence.readers.report.report_reader import take_apart
from distkb.evidence.text.printed import sentences
from distkb.search.affinity import HALF_WORDS_OF_ERROR, HALF_WORDS_OF_RUN, LISTED, affinity, damped_words
from distkb.search.index import Index
from distkb.search.query import listed
from distkb.search.wording import WORDING, weights

WRITTEN = 0.3
"""Weight of a script's words beside those of what the run printed: they say what was set up, and not what happened."""
CODE = 5.0
"""Weight of what stands in the code, divided by the root of how much that is, beside the words of the output."""
CODE_ALONE = 12.0
"""The same where the run printed nothing: then the code is all that tells."""
QUOTED = 5
"""Causes of which the line is kept that is most alike."""


class RunLikeness(msgspec.Struct, frozen=True, kw_only=True):
    """How well the words of a run fit."""

    weights: dict[str, float] = {}
    """See `Evidence.likeness`."""
    lines: dict[str, Quote] = {}
    """See `Evidence.alike`."""


def of_report(index: Index, report: str) -> dict[str, float]:
    """How well a report fits each entry: above all what it says of the failure."""
    return _fits(index, ((failure_text(take_apart(report)), FAILURE_SHARE), (report, 1.0 - FAILURE_SHARE)))


def of_error(index: Index, error: str) -> dict[str, float]:
    """How well an error fits each entry: by its words, the fewer the less, and by the listed messages of libraries."""
    words = len(damped_words(index, error))
    share = words / (words + HALF_WORDS_OF_ERROR)
    known = listed(index, error)
    return {
        entry: share * weight + (LISTED if entry in known else 0.0) for entry, weight in of_report(index, error).items()
    }


def of_run(
    index: Index, printed: Mapping[str, Quote], written: Mapping[str, Quote], code_words: Collection[str] = ()
) -> RunLikeness:
    """How well what a run printed, and by a part what its scripts say, fits each entry and each cause.

    The entries by their texts, the less the less was printed; the causes by the runs and the programs that are told of
    them. `printed` and `written` are kinds of lines, each with one of them; `code_words` what stands in the code.
    """
    output, code = sentences(printed), sentences(written)
    said = damped_words(index, output)
    share = len(said) / (len(said) + HALF_WORDS_OF_RUN)
    found = {entry: share * weight for entry, weight in _fits(index, ((output, 1.0),)).items()}
    sums = index.runs.weigh(said)
    if code:
        for entry, weight in _fits(index, ((code, 1.0),)).items():
            found[entry] += WRITTEN * weight
        of_code = index.runs.weigh(damped_words(index, code))
        sums = [a + WRITTEN * b for a, b in zip(sums, of_code, strict=True)]
    told = weights(_with_code(index, dict(zip(index.runs.causes, sums, strict=True)), code_words, alone=not printed))
    found |= told
    return RunLikeness(weights=found, lines=_most_alike(index, found, {**written, **printed}))


def _with_code(index: Index, sums: Mapping[str, float], words: Collection[str], *, alone: bool) -> dict[str, float]:
    """Add to the log ratios of causes those of what stands in the code."""
    known = [word for word in words if word in index.code.of_entries.words] if words else []
    if not known:
        return dict(sums)
    share = (CODE_ALONE if alone else CODE) / math.sqrt(len(known))
    own = dict(zip(index.code.causes, index.code.weigh(dict.fromkeys(known, share), level=alone), strict=True))
    return {cause: sums.get(cause, 0.0) + own.get(cause, 0.0) for cause in {**sums, **own}}


def _most_alike(index: Index, found: Mapping[str, float], kinds: Mapping[str, Quote]) -> dict[str, Quote]:
    """Return for the most likely causes the line whose words speak most for each."""
    causes = index.runs.causes
    best = heapq.nlargest(QUOTED, range(len(causes)), key=lambda n: found[causes[n]] + found[_entry(causes[n])])
    bags = [(damped_words(index, kind), quote) for kind, quote in kinds.items()]
    speaking = {word: index.runs.weigh({word: 1.0}) for word in {word for bag, _ in bags for word in bag}}
    lines: dict[str, Quote] = {}
    for number in best:
        scored = [
            (sum(weight * speaking[word][number] for word, weight in bag.items()), at)
            for at, (bag, _) in enumerate(bags)
        ]
        score, at = max(scored, default=(0.0, 0))
        if score > 0.0:
            lines[causes[number]] = bags[at][1]
    return lines


def _entry(cause: str) -> str:
    return cause.partition(".")[0]


def _fits(index: Index, texts: Iterable[tuple[str, float]]) -> dict[str, float]:
    """How well texts with their shares fit each entry: by the likeness of passages and by the statistics of words."""
    likeness = dict.fromkeys(index.ids, 0.0)
    sums = dict.fromkeys(index.ids, 0.0)
    for words, share in texts:
        text = unprinted(words)
        for entry, weight in affinity(index, text).items():
            likeness[entry] += share * weight
        for entry, total in zip(index.ids, index.wording.weigh(damped_words(index, text)), strict=True):
            sums[entry] += share * total
    told = weights(sums)
    return {entry: likeness[entry] + WORDING * told[entry] for entry in index.ids}
