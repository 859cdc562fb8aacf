"""Directories that every rank named for itself: the paths in their errors differ in one part, a time or a random id."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from distkb.evidence.observation import Quote
from distkb.evidence.text.clean import quote_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from distkb.evidence.run.processes import Process

_MOST = 200
"""Paths that are compared."""
_LONGEST = 4000
_PATH = re.compile(r"'([^'\s]{1,300}/[^'\s]{1,300})'")
_MADE = re.compile(r"(?:[0-9]{6}|[0-9a-f]{6,32}|[0-9]{1,2}[-:_][0-9]{2}[-:_][0-9]{2})$")
"""How a part ends that is made of a time or drawn at random."""
_COUNTED = re.compile(r"(?i)(?:step|epoch|iter|iteration|checkpoint|ckpt|global|chunk|shard|part)[-_=]?\d{1,12}$")


def own_directories(processes: Iterable[Process]) -> tuple[Quote, ...]:
    """Return two errors whose paths are the same but for one directory that two ranks can only have named apart."""
    seen: dict[tuple[str, ...], list[tuple[str, Quote]]] = {}
    number = 0
    for process in processes:
        for trace in process.traces:
            for raised in trace.chain.raised:
                for path in _PATH.findall(raised.message[:_LONGEST]):
                    number += 1
                    if number > _MOST:
                        return ()
                    line = trace.line_of(raised.at)
                    quote = Quote(
                        text=quote_text(f"{raised.type}: {raised.message}"),
                        path=trace.path,
                        line=line,
                        rank=process.rank,
                    )
                    for shape, part in _shapes(path):
                        others = seen.setdefault(shape, [])
                        other = next((one for name, one in others if name != part and _of_others(one, quote)), None)
                        if other is not None:
                            return (other, quote)
                        others.append((part, quote))
    return ()


def _of_others(one: Quote, other: Quote) -> bool:
    """Whether two errors are not known to be one rank's."""
    return one.rank is None or one.rank != other.rank


def _shapes(path: str) -> Iterable[tuple[tuple[str, ...], str]]:
    """Yield a path without one of its directories, for each that may have been named by one rank alone."""
    parts = path.split("/")
    for index, part in enumerate(parts[:-1]):
        if _MADE.search(part) and not _COUNTED.search(part):
            yield (*parts[:index], "", *parts[index + 1 :]), part
