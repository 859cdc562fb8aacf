"""The statistics of words for the browser: how likely each entry's failure is told in the words of a report."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from distkb.docsite.data.packed import fronts, numbers, steps
from distkb.evidence.readers.report.telling import PRINTED, TELLING_SHARE
from distkb.search import wording
from distkb.search.affinity import HALF_WORDS_OF_ERROR, weighted
from distkb.search.forms import Forms
from distkb.search.index import load

if TYPE_CHECKING:
    from distkb.docsite.views import Library


def told(library: Library) -> dict[str, Any]:
    """Return the statistics and the numbers that go with them; the value of `distkb.diagnoseWording`.

    `words` are sorted; `pairs` has for each word how many entries have it, their numbers and, above its base, the log
    ratio of each in units of `unit`. Packed as `packed` says, in the alphabet of the search index.
    """
    kept = _kept(library)
    packed: list[int] = []
    names = sorted(kept.words)
    for name in names:
        pairs = list(struct.iter_unpack("<HH", kept.words[name]))
        packed += [len(pairs), *steps(number for number, _ in pairs), *(above for _, above in pairs)]
    return {
        "bases": kept.bases,
        "words": fronts(names),
        "pairs": numbers(packed),
        "unit": wording.UNIT,
        "sharpness": wording.SHARPNESS,
        "cap": wording.CAP,
        "least": wording.LEAST,
        "share": wording.WORDING,
        "tellingShare": TELLING_SHARE,
        "printed": PRINTED,
        "halfWordsOfError": HALF_WORDS_OF_ERROR,
    }


def _kept(library: Library) -> wording.Wording:
    if library.search:
        return load(library.search).wording
    forms = Forms.of_terms(library.catalogue.terms)
    return wording.build(library.catalogue, lambda text: weighted(forms, text))
