"""How places of the evidence are named: short, once for a line that stands in two files, and readable as they are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import msgspec

from distkb.evidence.observation import Evidence, Quote
from distkb.report.layout import clean

_WORTH = 12
"""Least length of a folder's name that is worth a line of its own instead of a repetition in each place."""
_MARKS = re.compile(r"^(?:\[(?:default|rank|trainer)\d+\]:\s?)+")
"""What torchrun and torch put before each line of a rank; lines that differ in it alone say the same."""
_LAUNCHER = re.compile(r"^\[(?:default|trainer)\d+\]:")
"""What only the launcher's console has before a line."""
_COMPARED = 100
"""Characters by which two lines are compared: quotes of one line are cut at different ends."""
_CPP = re.compile(r"(?:\[|^…?)(?:[\w.+@-]*/)+([\w.+-]+\.(?:cc|cpp|cxx|cu|cuh|h|hpp):\d+)\]")

Place = tuple[str, int]


def unmarked(text: str) -> str:
    """Return a line without what launchers and torch put before it."""
    return _MARKS.sub("", text)


def readable(text: str) -> str:
    """Return a line as it is quoted to people: the folders of a C++ source are those of a build machine."""
    return _CPP.sub(r"[…/\1]", clean(text)) if "/" in text else clean(text)


class Citations:
    """The places of one evidence: their common folder, and which of them hold the same printed line."""

    def __init__(self, evidence: Evidence) -> None:
        quotes = [quote for observation in evidence.observations for quote in observation.quotes]
        quotes += [*evidence.notes, *evidence.alike.values()]
        self.base = _common_folder({quote.path for quote in quotes if quote.path is not None})
        """Folder that the places are named from; empty where they are named as the user did."""
        self._texts: dict[Place, Quote] = {}
        for quote in quotes:
            if (place := _place(quote)) is not None:
                self._texts[place] = _clearer(self._texts.get(place), quote)
        self._twins = _twins(quotes)

    def place(self, quote: Quote) -> str:
        """Return `path:line` of a quote, the path from the common folder; empty where there is no path."""
        if quote.path is None:
            return ""
        path = os.path.relpath(quote.path, self.base) if self.base else quote.path
        return clean(path) + (f":{quote.line}" if quote.line is not None else "")

    def best(self, quote: Quote) -> Quote:
        """Return the quote of the same line that reads best: of the rank's own file, with its beginning."""
        place = _place(quote)
        if place is None:
            return quote
        own = self._texts.get(self._own(place), quote)
        if _continues(own.text, quote.text):
            return msgspec.structs.replace(own, rank=own.rank if own.rank is not None else quote.rank)
        return msgspec.structs.replace(quote, path=own.path, line=own.line)

    def also(self, quote: Quote) -> list[str]:
        """Return the other places that hold the same line."""
        here = _place(quote)
        others = sorted(self._twins.get(here, frozenset()) - {here}) if here else []
        return [self.place(Quote(text="", path=path, line=line)) for path, line in others]

    def key(self, quote: Quote) -> object:
        """Return what is the same for two quotes of the same line."""
        place = _place(quote)
        return quote.text if place is None else self._own(place)

    def _own(self, place: Place) -> Place:
        """Return the place of the same line in the rank's own file rather than in the console of all ranks."""
        return min(self._twins.get(place, frozenset({place})), key=self._distance)

    def _distance(self, place: Place) -> tuple[bool, int, Place]:
        tagged = _LAUNCHER.match(self._texts[place].text) is not None
        return tagged, -place[0].count("/"), place


def _place(quote: Quote) -> Place | None:
    return None if quote.path is None or quote.line is None else (quote.path, quote.line)


def _clearer(known: Quote | None, quote: Quote) -> Quote:
    """Return the quote of one line that shows its beginning and says whose and when it is."""
    if known is None:
        return quote
    first, second = (quote, known) if known.text.startswith("…") and not quote.text.startswith("…") else (known, quote)
    rank = first.rank if first.rank is not None else second.rank
    return msgspec.structs.replace(first, rank=rank, time=first.time if first.time is not None else second.time)


def _continues(whole: str, part: str) -> bool:
    """Whether `whole` shows what `part` shows of the same line, as far as both can be compared."""
    core = unmarked(part).removeprefix("…")[:_COMPARED].rstrip("…")
    return core in whole or readable(core)[:_COMPARED] in readable(whole)


def _twins(quotes: Iterable[Quote]) -> dict[Place, frozenset[Place]]:
    """Return the places that hold the same line of the same rank in different files, where that is unambiguous."""
    buckets: dict[tuple[int | None, str], set[Place]] = {}
    for quote in quotes:
        text = unmarked(quote.text).removeprefix("…")[:_COMPARED]
        if (place := _place(quote)) is not None and len(text) > 8:
            buckets.setdefault((quote.rank, text), set()).add(place)
    twins: dict[Place, frozenset[Place]] = {}
    for places in buckets.values():
        if len({path for path, _ in places}) == len(places) > 1:
            for place in places:
                twins[place] = twins.get(place, frozenset()) | places
    return twins


def _common_folder(paths: Iterable[str]) -> str:
    """Return the deepest folder that holds all the paths; empty where it is not worth a sentence."""
    folders = {os.path.dirname(path) for path in paths}  # noqa: PTH120 - a text, not a file of this machine
    if not folders:
        return ""
    try:
        common = os.path.commonpath(folders)
    except ValueError:  # absolute and relative paths together
        return ""
    return common if len(common) >= _WORTH else ""
