"""How likely each cause's failure looks like what a run prints and how its script is written.

The same model of words as in `wording`, over the example runs, on two levels: the words of an entry's runs against
those of all, and those of a cause's runs against its entry's.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from distkb.search.affinity import damp
from distkb.search.wording import SMOOTHING, Wording, against_all, compared, counted, shares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from distkb.catalogue.model import Catalogue

OF_CAUSE = 500.0
"""Weight of an entry's statistics in those of each of its causes, in words."""
LEAST = 2
"""Runs that have a word which counts: what only one says is its own subject."""
MARKS = r"[\d.:,\[\]|/#%=^~-]+"
"""Numbers and what stands around them, left out as in what a run prints (`distkb.evidence.text.printed.MARKS`)."""


class RunWording(msgspec.Struct, array_like=True, frozen=True):
    """The statistics, built once and kept in the search index."""

    causes: tuple[str, ...]
    """Ids of the causes that have runs."""
    owners: tuple[int, ...]
    """By cause: the number of its entry among those that have runs."""
    of_entries: Wording
    of_causes: Wording
    """By how much the log ratio of a cause is above its entry's."""

    def weigh(self, words: Mapping[str, float]) -> list[float]:
        """Sum the log ratios of weighted words, by cause."""
        entries, causes = self.of_entries.weigh(words), self.of_causes.weigh(words)
        return [entries[owner] + own for owner, own in zip(self.owners, causes, strict=True)]


def build(catalogue: Catalogue, weighted: Callable[[str], Iterable[tuple[str, float]]]) -> RunWording:
    """Count the words of every cause's example runs; `weighted` finds those of a text."""
    known = {cause.id for entry in catalogue.entries for cause in entry.causes}
    runs = [run for run in catalogue.runs if run.cause in known]
    causes = tuple(sorted({run.cause for run in runs}))
    entries = sorted({cause.partition(".")[0] for cause in causes})
    numbers = {cause: at for at, cause in enumerate(causes)}
    owners = tuple(entries.index(cause.partition(".")[0]) for cause in causes)
    marks = re.compile(MARKS)
    bags = [
        (numbers[run.cause], [damp(weighted(marks.sub(" ", text))) for text in (run.log, run.code)]) for run in runs
    ]
    spread = Counter(word for _, parts in bags for word in {word for part in parts for word in part})
    of_causes = counted(
        (
            (number, {word: weight for word, weight in part.items() if spread[word] >= LEAST})
            for number, parts in bags
            for part in parts
        ),
        len(causes),
    )
    of_entries = counted(zip(owners, of_causes, strict=True), len(entries))
    usual = shares(of_entries)

    def expected(own: Mapping[str, float]) -> dict[str, float]:
        share = OF_CAUSE / (sum(own.values()) + SMOOTHING)
        return {word: share * (count + SMOOTHING * usual[word]) for word, count in own.items()}

    of_owner = [expected(own) for own in of_entries]
    return RunWording(
        causes, owners, against_all(of_entries), compared(of_causes, [of_owner[owner] for owner in owners], OF_CAUSE)
    )
