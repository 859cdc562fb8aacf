"""The statistics of words for the browser: how likely a report tells, and a run prints, the failure of each entry."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from distkb.docsite.data.packed import fronts, numbers, steps
from distkb.evidence.readers.report.failure_text import FAILURE_SHARE, PRINTED
from distkb.evidence.text import printed
from distkb.evidence.text.traceback import LIBRARY
from distkb.search import runs, wording
from distkb.search.affinity import HALF_WORDS_OF_ERROR, HALF_WORDS_OF_RUN, LISTED, weighted
from distkb.search.build import message_rows
from distkb.search.forms import Forms
from distkb.search.index import MESSAGE, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from distkb.docsite.views import Library
    from distkb.search.index import SignatureRow


def told(library: Library) -> dict[str, Any]:
    """Return the statistics and the numbers that go with them; the value of `distkb.diagnoseWording`.

    `words` are sorted; `pairs` has for each word how many entries have it, their numbers and, above its base, the log
    ratio of each in units of `unit`. Packed as `packed` says, in the alphabet of the search index. `messages`: the
    number of an entry and the pattern of a message that is listed for it.
    """
    kept, _, rows = _kept(library)
    return {
        **_packed(kept),
        "unit": wording.UNIT,
        "sharpness": wording.SHARPNESS,
        "cap": wording.CAP,
        "least": wording.LEAST,
        "share": wording.WORDING,
        "tellingShare": FAILURE_SHARE,
        "printed": PRINTED,
        "halfWordsOfError": HALF_WORDS_OF_ERROR,
        "halfWordsOfRun": HALF_WORDS_OF_RUN,
        "listed": LISTED,
        "ofRun": {
            "frame": printed.FRAME,
            "library": LIBRARY,
            "marks": printed.MARKS,
            "others": printed.OTHERS,
            "lines": printed.LINES,
            "characters": printed.CHARACTERS,
            "width": printed.WIDTH,
            "least": printed.LEAST,
        },
        "messages": [[number, row.pattern] for row in rows if row.id == MESSAGE for number, _ in row.entries],
    }


def alike(library: Library) -> dict[str, Any]:
    """Return the statistics of example runs; the value of `distkb.diagnoseRuns`.

    `entries` and `own` are packed as `told` says: of the entries that have runs, and, by number of a cause, by how much
    its log ratio is above its entry's. `owners`: by cause, the number of its entry among those.
    """
    _, kept, _ = _kept(library)
    return {
        "causes": kept.causes,
        "owners": kept.owners,
        "entries": _packed(kept.of_entries),
        "own": _packed(kept.of_causes),
    }


def _packed(kept: wording.Wording) -> dict[str, Any]:
    packed: list[int] = []
    names = sorted(kept.words)
    for name in names:
        pairs = list(struct.iter_unpack("<HH", kept.words[name]))
        packed += [len(pairs), *steps(number for number, _ in pairs), *(above for _, above in pairs)]
    return {"bases": kept.bases, "words": fronts(names), "pairs": numbers(packed)}


def _kept(library: Library) -> tuple[wording.Wording, runs.RunWording, Sequence[SignatureRow]]:
    if library.search:
        index = load(library.search)
        return index.wording, index.runs, index.signatures
    forms = Forms.of_terms(library.catalogue.terms)

    def words(text: str) -> Iterable[tuple[str, float]]:
        return weighted(forms, text)

    catalogue = library.catalogue
    return wording.build(catalogue, words), runs.build(catalogue, words), tuple(message_rows(catalogue))
