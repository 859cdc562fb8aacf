"""Short names of files: as much of the end of a path as tells it from all others."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

from distkb.evidence.observation import Evidence
from distkb.report.layout import clean


class Ends:
    """The ends of some paths, by which each of them is found again."""

    def __init__(self, paths: Iterable[str]) -> None:
        known = sorted(set(paths))
        ends = {path: list(accumulate(reversed(path.split("/")), lambda end, part: f"{part}/{end}")) for path in known}
        often = Counter(end for own in ends.values() for end in own)
        self._short = {path: next((end for end in own if often[end] == 1 and end), path) for path, own in ends.items()}
        self.base = _folder(known)
        """The folder that all of them are in; empty where there is none."""

    def of(self, path: str) -> str:
        """Return the short name of one of the paths; of others the path itself."""
        return self._short.get(path, path)


def paths_of(evidence: Evidence) -> set[str]:
    """Return every file that something was seen in."""
    quotes = [quote for observation in evidence.observations for quote in observation.quotes]
    quotes += [*evidence.notes, *(one.last for one in evidence.ranks if one.last is not None)]
    paths = {quote.path for quote in quotes}
    seen = evidence.closeup
    if seen is not None:
        paths |= {one.quote.path for one in seen.said} | {one.quote.path for one in seen.odd}
        paths |= {quote.path for quote in seen.course}
        paths |= {one.path for one in (*seen.failures, *seen.code, *seen.scripts, *seen.rank)}
        paths |= {quote.path for stand in seen.stands for quote in (stand.seen, *stand.frames)}
    return {clean(path) for path in paths if path}


def _folder(paths: list[str]) -> str:
    try:
        return os.path.commonpath([os.path.dirname(path) for path in paths]) if paths else ""  # noqa: PTH120
    except ValueError:  # absolute and relative ones together
        return ""
