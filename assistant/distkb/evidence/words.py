"""Intake facts that a person's own words show."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.clean import quote_text
from distkb.evidence.observation import Observation, Quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distkb.catalogue.model import Fact

SURE = 0.5
"""Certainty of a fact of which one value is said."""
TORN = 0.35
"""Certainty of the best value where several are said."""
SETUP = frozenset({"launcher", "nodes", "parallelism"})
"""Facts that commands and code show as well as words do."""

_NEGATED_EN = re.compile(
    r"(?i)(?:\b(?:no|not|never|without|neither|nor|instead of|rather than)|n't)(?:\s+[\w-]+){0,2}\s+$"
)
_NEGATED_KO = re.compile(r"^\S{0,4}(?:지(?:는|도)? (?:않|못|말)|는 (?:것이 )?아니|가 아니|이 아니)")


class Said(msgspec.Struct, frozen=True):
    """One place where a value of a fact is said."""

    value: str
    share: float
    start: int
    end: int


def inferred(prose: str, setup: str, facts: Sequence[Fact], path: str | None = None) -> list[Observation]:
    """Facts shown by the prose of a report, and, for how the run is set up, by its commands and code too."""
    found: list[Observation] = []
    for fact in facts:
        text = prose + "\n" + setup if fact.id in SETUP else prose
        said = _said(text, fact)
        if not said:
            continue
        values = {item.value for item in said}
        best = _best(said)
        text_quote = quote_text(*_line(text, best))
        found.append(
            Observation(
                id=f"{fact.id}={best.value}",
                source="report",
                certainty=SURE if len(values) == 1 else TORN,
                quotes=(Quote(text=text_quote, path=path),),
                count=sum(item.value == best.value for item in said),
            )
        )
    return found


def _best(said: Sequence[Said]) -> Said:
    """The value that is said most, rarer values weighing more; of equals the first mentioned."""
    weights: dict[str, float] = {}
    for item in said:
        weights[item.value] = weights.get(item.value, 0.0) + 1.0
    shares = {item.value: item.share for item in said}

    def rank(item: Said) -> tuple[float, int]:
        return (-(min(3.0, weights[item.value]) ** 0.5) * (0.5 - math.log(shares[item.value])), item.start)

    return min(said, key=rank)


def _said(text: str, fact: Fact) -> list[Said]:
    """All places where values are said, without those inside a longer phrase of another value."""
    places: list[Said] = []
    for value in fact.values:
        for pattern, korean in patterns_of(value.said_as.en, value.said_as.ko):
            for match in pattern.finditer(text):
                before, after = text[max(0, match.start() - 40) : match.start()], text[match.end() : match.end() + 16]
                negated = _NEGATED_KO.match(after) if korean else _NEGATED_EN.search(before)
                if not negated:
                    places.append(Said(value.value, value.share, match.start(), match.end()))
    return [
        place
        for place in places
        if not any(
            other.value != place.value
            and other.start <= place.start
            and place.end <= other.end
            and other.end - other.start > place.end - place.start
            for other in places
        )
    ]


@lru_cache(maxsize=512)
def patterns_of(en: tuple[str, ...], ko: tuple[str, ...]) -> tuple[tuple[re.Pattern[str], bool], ...]:
    """Return the patterns of a value's words, and whether each is Korean."""
    patterns: list[tuple[re.Pattern[str], bool]] = []
    if en:
        words = "|".join(_loosely(word) for word in sorted(en, key=len, reverse=True))
        patterns.append((re.compile(rf"(?i)(?<![A-Za-z0-9_])(?:{words})(?![A-Za-z0-9_])"), False))
    if ko:
        words = "|".join(_loosely(word) for word in sorted(ko, key=len, reverse=True))
        patterns.append((re.compile(rf"(?i)(?:{words})"), True))
    return tuple(patterns)


def _loosely(word: str) -> str:
    """Pattern of a phrase whose blanks may be any white space, a line break included."""
    return r"\s+".join(re.escape(part) for part in word.split())


def _line(text: str, said: Said) -> tuple[str, int, int]:
    """Line around a place, and the place in it."""
    low = text.rfind("\n", 0, said.start) + 1
    high = text.find("\n", said.end)
    high = len(text) if high < 0 else high
    return text[low:high], said.start - low, said.end - low
