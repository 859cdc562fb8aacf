"""Intake facts that a person's own words show, and, where they leave a fact open, the output that was pasted."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.observation import Observation, Quote
from distkb.evidence.text.clean import quote_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distkb.catalogue.model import Fact

SURE = 0.8
"""Certainty of a fact of which one value is said."""
TORN = 0.5
"""Certainty of the best value where several are said, or where it is only hinted at."""
SHOWN = 0.3
"""Certainty of a fact that only the pasted output shows: its lines have counted as evidence of their own."""
HINT = 0.5
"""Weight of words that go with a value without saying it, beside those that say it."""
ASIDE = 0.25
"""Weight of a setup that is mentioned because it works: people name what they compare with."""
OPENING = 2.0
"""Weight of the title or first line, where people say what is wrong; the rest tells how they came to it."""
EVEN = 3.0
"""How little the rarity of a value counts beside how often it is said; a rare value is said for a reason."""
OPENING_LENGTH = 160
"""Characters of a first line that count as the opening."""
SETUP = frozenset({"launcher", "nodes", "parallelism"})
"""Facts that commands and code show as well as words do."""
TRIED = frozenset({"phase"})
"""Facts of which a value holds although its words are negated: what never starts was tried."""

AROUND = (
    ("(?:(?<![A-Za-z0-9_])|(?=[\\u4e00-\\u9fff]))(?:", ")(?:(?![A-Za-z0-9_])|(?<=[\\u4e00-\\u9fff]))"),
    ("(?:", ")"),
)
"""What stands before and after the phrases of a list, in English, where Chinese has no blanks, and in Korean."""

_NEGATED_EN = re.compile(
    r"(?i)(?:\b(?:no|not|never|nothing|none|nobody|without|w/o|neither|nor|instead of|rather than)|n['’]t)"
    r"(?:\s+(?!(?:and|but|or|then|so|because|why|when|after|until|if)\s)[\w-]+){0,2}\s+$"
    r"|(?:不会|没有|不再|没|未)\s?$"
)
_NEGATED_KO = re.compile(
    r"^\S{0,4}(?:지(?:는|도)? ?(?:않|못|말)|는 (?:것이 )?아니|가 아니|이 아니"
    r"|(?:은|는|도|이|가)? ?없(?:이|고|는|습|어|음|다|었))"
)
_ASIDE_EN = re.compile(
    r"(?i)^[^.;!?\n]{0,24}?\b(?:works?|worked|working|fine|ok|okay|succeeds?|succeeded|passes|passed|is good"
    r"|no (?:such )?(?:problems?|issues?|errors?|freeze|hang)|runs? (?:well|through|smoothly|without)"
    r"|does(?:n['’]t| not) (?:have|happen))\b"
)
_ASIDE_KO = re.compile(
    r"^[^.!?\n]{0,14}?(?:잘 ?(?:되|됩|됐|돼|돌|나오|끝)|정상|문제 ?없|문제가 없|괜찮|이상 ?없"
    r"|되는데|됩니다|돌아가|돌아갑|넘어가|넘어갑|통과|재현되지 않)"
)


class SaidFact(msgspec.Struct, frozen=True):
    """One place where a value of a fact is said."""

    value: str
    share: float
    weight: float
    start: int
    end: int


MOST_TOLD = 60_000
"""Characters in which facts are looked for: nobody says more in their own words."""


def inferred(prose: str, setup: str, output: str, facts: Sequence[Fact], path: str | None = None) -> list[Observation]:
    """Facts shown by the prose of a report; for how the run is set up, by its commands and code too.

    A fact that they leave open is read from the output that was pasted. The output also says more exactly what the
    words say in general: of "I get this error" and a line about memory, that memory ran out.
    """
    found: list[Observation] = []
    told, typed = prose[:MOST_TOLD], setup[:MOST_TOLD]
    for fact in facts:
        text = told + "\n" + typed if fact.id in SETUP else told
        said = _said(text, fact)
        certainty = SURE
        if not said:
            text, said, certainty = output, _shown(output, fact), SHOWN
        if not said:
            continue
        best = _best(said)
        shown = _shown(output, fact) if certainty == SURE else []
        if any(item.value == best.value for item in shown) and _best(shown).value != best.value:
            text, best, said = output, _best(shown), [*said, *shown]
        if certainty == SURE and (best.weight <= HINT or any(item.value != best.value for item in said)):
            certainty = TORN
        text_quote = quote_text(*_line(text, best))
        found.append(
            Observation(
                id=f"{fact.id}={best.value}",
                source="report",
                certainty=certainty,
                quotes=(Quote(text=text_quote, path=path),),
                count=sum(item.value == best.value for item in said),
            )
        )
    return found


def _best(said: Sequence[SaidFact]) -> SaidFact:
    """The value that is said most, rarer values weighing more; of its places the clearest, then the first."""
    weights: dict[str, float] = {}
    for item in said:
        weights[item.value] = weights.get(item.value, 0.0) + item.weight
    shares = {item.value: item.share for item in said}

    def rank(item: SaidFact) -> tuple[float, float, int]:
        strength = min(3.0, weights[item.value]) ** 0.5
        return (-strength * (EVEN - math.log(shares[item.value])), -item.weight, item.start)

    return min(said, key=rank)


def _said(text: str, fact: Fact) -> list[SaidFact]:
    """All places where values are said, without those inside a longer phrase."""
    lead = _lead(text)
    places: list[SaidFact] = []
    for value in fact.values:
        for words, weight in ((value.said_as, 1.0), (value.hinted_as, HINT)):
            for pattern, korean in patterns_of(words.en, words.ko):
                for match in pattern.finditer(text):
                    if fact.id not in TRIED and _negated(text, match, korean=korean):
                        continue
                    weighed = weight * (OPENING if weight == 1.0 and match.start() < lead else 1.0)
                    if (fact.id in SETUP or fact.id in TRIED) and _aside(text, match, korean=korean):
                        weighed *= ASIDE
                    places.append(SaidFact(value.value, value.share, weighed, match.start(), match.end()))
    others = [
        (match.start(), match.end())
        for pattern, _ in patterns_of(fact.not_said_as.en, fact.not_said_as.ko)
        for match in pattern.finditer(text)
    ]
    spans = sorted([*((place.start, place.end) for place in places), *others])
    longest = max((end - start for start, end in spans), default=0)
    return [place for place in places if not _inside(place, spans, longest)]


def _shown(output: str, fact: Fact) -> list[SaidFact]:
    """The first place of each value that the output shows."""
    places: list[SaidFact] = []
    for value in fact.values:
        for pattern, _ in patterns_of(value.shown_as, ()):
            match = pattern.search(output)
            if match is not None:
                places.append(SaidFact(value.value, value.share, HINT, match.start(), match.end()))
    return places


def _negated(text: str, match: re.Match[str], *, korean: bool) -> bool:
    if korean:
        return _NEGATED_KO.match(text[match.end() : match.end() + 16]) is not None
    return _NEGATED_EN.search(text[max(0, match.start() - 40) : match.start()]) is not None


def _aside(text: str, match: re.Match[str], *, korean: bool) -> bool:
    after = text[match.end() : match.end() + 48]
    return _ASIDE_KO.match(after) is not None or (not korean and _ASIDE_EN.match(after) is not None)


def _lead(text: str) -> int:
    """Offset where the title or first line ends."""
    start = len(text) - len(text.lstrip("\n "))
    end = text.find("\n", start)
    return min(len(text) if end < 0 else end, start + OPENING_LENGTH)


def _inside(place: SaidFact, spans: Sequence[tuple[int, int]], longest: int) -> bool:
    """Whether a place lies inside a longer one of these, which are sorted and at most `longest` characters long."""
    length = place.end - place.start
    low = bisect_left(spans, (place.start - longest, 0))
    high = bisect_left(spans, (place.start + 1, 0), low)
    return any(place.end <= end and end - start > length for start, end in spans[low:high])


@lru_cache(maxsize=1024)
def patterns_of(en: tuple[str, ...], ko: tuple[str, ...]) -> tuple[tuple[re.Pattern[str], bool], ...]:
    """Return the patterns of a value's words, and whether each is Korean."""
    patterns: list[tuple[re.Pattern[str], bool]] = []
    for words, korean in ((en, False), (ko, True)):
        if words:
            before, after = AROUND[korean]
            phrases = "|".join(phrase(word, korean=korean) for word in longest_first(words))
            patterns.append((re.compile(f"(?i){before}{phrases}{after}"), korean))
    return tuple(patterns)


def longest_first(words: Sequence[str]) -> list[str]:
    """Return words in the order in which they are tried."""
    return sorted(words, key=len, reverse=True)


def phrase(word: str, *, korean: bool) -> str:
    """Return the pattern of a phrase: blanks are any white space, `*` any ending, `…` some words of the sentence."""
    ending, around = (r"[^\s.]", "") if korean else (r"\w", r"\b")
    pattern = ""
    between = ""
    for part in word.split():
        if part == "…":
            between = rf"{around}[^.;!?]{{0,30}}?{around}"
            continue
        pattern += (between or r"\s{1,64}") if pattern else ""
        pattern += re.escape(part).replace(r"\*", f"{ending}{{0,24}}")
        between = ""
    return pattern + (r"\s" if word.endswith(" ") else "")


def _line(text: str, said: SaidFact) -> tuple[str, int, int]:
    """Line around a place, and the place in it."""
    low = text.rfind("\n", 0, said.start) + 1
    high = text.find("\n", said.end)
    high = len(text) if high < 0 else high
    return text[low:high], said.start - low, said.end - low
