"""How likely each cause's failure looks like what a run prints, and like how its program is written.

The same model of words as in `wording`, over the example runs and projects, on two levels: the words of an entry's
examples against those of all, and those of a cause's examples against its entry's.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from distkb.search.affinity import damp
from distkb.search.code_words import file_words
from distkb.search.wording import SMOOTHING, Wording, against_all, compared, counted, shares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from distkb.catalogue.model import Catalogue

OF_CAUSE = 500.0
"""Weight of an entry's statistics in those of each of its causes, in words."""
CODE_SMOOTHING = 900.0
"""Weight of the mixture in every entry's statistics of code, in words: about three programs."""
LEAST = 2
"""Examples that have a word which counts: what only one says is its own subject."""
MARKS = r"[\d.:,\[\]|/#%=^~-]+"
"""Numbers and what stands around them, left out as in what a run prints (`distkb.evidence.text.printed.MARKS`)."""


class RunWording(msgspec.Struct, array_like=True, frozen=True):
    """The statistics, built once and kept in the search index."""

    causes: tuple[str, ...]
    """Ids of the causes that have examples."""
    owners: tuple[int, ...]
    """By cause: the number of its entry among those that have examples."""
    of_entries: Wording
    of_causes: Wording
    """By how much the log ratio of a cause is above its entry's."""

    def weigh(self, words: Mapping[str, float], *, level: bool = False) -> list[float]:
        """Sum the log ratios of weighted words, by cause; `level` as in `Wording.weigh`, for entries."""
        entries, causes = self.of_entries.weigh(words, level=level), self.of_causes.weigh(words)
        return [entries[owner] + own for owner, own in zip(self.owners, causes, strict=True)]


Example = tuple[str, "Sequence[Mapping[str, float]]"]
"""The cause of an example, and the words of each of its parts with their weights."""


def build(catalogue: Catalogue, weighted: Callable[[str], Iterable[tuple[str, float]]]) -> RunWording:
    """Count the words of every cause's example runs; `weighted` finds those of a text."""
    marks = re.compile(MARKS)
    runs = [
        (run.cause, [damp(weighted(marks.sub(" ", text))) for text in (run.log, run.code)]) for run in catalogue.runs
    ]
    return _counted(catalogue, runs, SMOOTHING)


def build_code(catalogue: Catalogue) -> RunWording:
    """Count what stands in the code of every cause's example runs and projects; see `code_words`."""
    made = [(run.cause, {"run.py": run.code}) for run in catalogue.runs]
    made += [(project.cause, project.files) for project in catalogue.projects]
    found = [(cause, frozenset().union(*map(file_words, files, files.values()))) for cause, files in made]
    return _counted(catalogue, [(cause, [dict.fromkeys(words, 1.0)]) for cause, words in found], CODE_SMOOTHING)


def _counted(catalogue: Catalogue, examples: Sequence[Example], smoothing: float) -> RunWording:
    known = {cause.id for entry in catalogue.entries for cause in entry.causes}
    examples = [example for example in examples if example[0] in known]
    causes = tuple(sorted({cause for cause, _ in examples}))
    entries = sorted({cause.partition(".")[0] for cause in causes})
    numbers = {cause: at for at, cause in enumerate(causes)}
    owners = tuple(entries.index(cause.partition(".")[0]) for cause in causes)
    spread = Counter(word for _, parts in examples for word in {word for part in parts for word in part})
    of_causes = counted(
        (
            (numbers[cause], {word: weight for word, weight in part.items() if spread[word] >= LEAST})
            for cause, parts in examples
            for part in parts
        ),
        len(causes),
    )
    of_entries = counted(zip(owners, of_causes, strict=True), len(entries))
    usual = shares(of_entries)

    def expected(own: Mapping[str, float]) -> dict[str, float]:
        share = OF_CAUSE / (sum(own.values()) + smoothing)
        return {word: share * (count + smoothing * usual[word]) for word, count in own.items()}

    of_owner = [expected(own) for own in of_entries]
    return RunWording(
        causes,
        owners,
        against_all(of_entries, smoothing),
        compared(of_causes, [of_owner[owner] for owner in owners], OF_CAUSE),
    )
