"""What the page needs to read a report as the program does: every pattern, translated, and every number."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from distkb.docsite.data.regex import Expression, translate
from distkb.evidence import hits, implied
from distkb.evidence.readers.report import failure_text, words
from distkb.evidence.readers.report import report_reader as report
from distkb.evidence.run import timeline, watchdog
from distkb.evidence.scanner.literals import required_literals
from distkb.evidence.text import clean, traceback
from distkb_probes import secret_kinds

if TYPE_CHECKING:
    from distkb.catalogue.model import Catalogue, Fact
    from distkb.docsite.views import Library

RULES: Mapping[ModuleType, tuple[str, ...]] = {
    report: ("_QUOTED", "_FENCE", "_SWITCHED_OFF", "_OUTPUT", "_SPOKEN", "_COMMAND", "_CODE"),
    watchdog: ("_GROUP", "_RANK", "_WORK"),
    failure_text: ("_SETTING", "_ERROR", "_FOOTER"),
    words: ("_NEGATED_EN", "_NEGATED_KO", "_ASIDE_EN", "_ASIDE_KO"),
    timeline: ("_ECHO", "_NOT_USER", "_NOT_USER_MESSAGE"),
    traceback: (
        "_FRAME",
        "_EXCEPTION",
        "_GROUP_MARK",
        "_CARETS",
        "_SPAWNED",
        "_LAUNCHER_FILES",
        "_LIBRARY",
        "_TAGS",
        "_LOG_LINE",
    ),
    clean: ("_ESCAPES", "_INVISIBLE"),
    secret_kinds: ("TELLTALE",),
}
"""Patterns of the readers, by module: the script knows each by its name in camel case."""

NUMBERS: Mapping[ModuleType, tuple[str, ...]] = {
    report: ("MAX_CHARACTERS", "ROW", "FOLDED", "PASTED", "_FOLD"),
    failure_text: ("MIN_WORDS", "_MAX_LINE"),
    words: ("SURE", "TORN", "SHOWN", "HINT", "ASIDE", "OPENING", "OPENING_LENGTH", "EVEN"),
    traceback: ("MAX_LINES", "MAX_MESSAGE", "MAX_PREFIX"),
    watchdog: ("UNSURE",),
    clean: ("WIDTH", "_CONTEXT"),
    hits: ("QUOTES",),
    implied: ("CERTAINTY", "CONCLUDED"),
}
NAMES: Mapping[ModuleType, tuple[str, ...]] = {
    traceback: ("_LAUNCHER_TYPES", "_CHAINED"),
    timeline: ("_COMMUNICATION_TYPES", "_ENDED_TYPES"),
    words: ("SETUP", "TRIED"),
    watchdog: ("_ALONE", "_ONE_SIZE"),
}

MARKS = {
    "\ue001": translate(r"\b").source,
    "\ue002": translate(r"\w").source,
    "\ue000": translate(r"\s").source.strip("[]"),
}
"""What stands for classes of characters, which are long and come often, until a script puts them back."""
PIECE = 4
"""Characters of a piece: shorter ones are found everywhere, longer ones are shared by fewer patterns."""
SHORTEST = 3
"""Characters by which a piece is found."""
ANY_HANGUL = -1
"""Stands for a piece that every text with a Korean syllable holds."""
HANGUL = re.compile("[가-힣]")


def patterns(library: Library) -> dict[str, Any]:
    """Return all that reading a report takes; the value of `distkb.diagnosePatterns`.

    `signatures`: id, source, 1 where case does not matter, and numbers of pieces, of which each line that matches
    holds at least one; an empty list where nothing is known of such lines. `frames`: the same without pieces.
    `secrets`: source and flags of each kind, and 1 where it is looked for in every text.
    `words`: a fact's id; of each of its values the name, the share, and the patterns of what says it, hints at it and
    shows it in output; and the patterns of what does not say it. Each is a pair of lists, in English and in Korean, of
    phrases with the piece that a text holds where it holds the phrase; `around` goes around those that are tried.
    """
    catalogue = library.catalogue
    said = [signature for signature in catalogue.signatures if "report" in signature.where]
    expressions = [report.in_report(signature.pattern) for signature in said]
    needed = [required_literals(expression) for expression in expressions]
    spoken = sorted({phrase for fact in catalogue.facts for phrases in _phrases(fact) for phrase in phrases})
    pieces, chosen = cover([*needed, *map(_part, spoken)], _background(catalogue))
    held = dict(zip(spoken, chosen[len(needed) :], strict=True))
    return {
        "rules": {camel(name): _pair(translate(pattern.pattern, pattern.flags)) for name, pattern in rules().items()},
        "secrets": [
            [*_pair(translate(kind.pattern.pattern, kind.pattern.flags)), int(kind.name in secret_kinds.SELF_EVIDENT)]
            for kind in secret_kinds.kinds()
        ],
        "numbers": {camel(name): getattr(module, name) for module, names in NUMBERS.items() for name in names},
        "names": {camel(name): sorted(getattr(module, name)) for module, names in NAMES.items() for name in names},
        "pieces": pieces,
        "signatures": [
            [signature.id, *_coded(expression), numbers]
            for signature, expression, numbers in zip(said, expressions, chosen[: len(said)], strict=True)
        ],
        "frames": [
            [signature.id, *_coded(report.in_report(signature.pattern))]
            for signature in catalogue.signatures
            if "frame" in signature.where
        ],
        "concludes": [[signature.id, list(signature.concludes)] for signature in said if signature.concludes],
        "echoes": [signature.id for signature in said if signature.role == "collateral"],
        "failures": [signature.id for signature in said if signature.role == "primary"]
        + [finding.id for finding in catalogue.findings if finding.role == "primary"],
        "words": [_words(fact, held) for fact in catalogue.facts],
        "around": words.AROUND,
        "marks": list(MARKS.items()),
    }


def rules() -> dict[str, re.Pattern[str]]:
    """Return the patterns of the readers by name."""
    return {name: getattr(module, name) for module, names in RULES.items() for name in names}


def camel(name: str) -> str:
    """Return the name of a constant as the scripts of the site write it."""
    first, *rest = name.lower().strip("_").split("_")
    return first + "".join(part.capitalize() for part in rest)


def _pair(expression: Expression) -> list[str]:
    return [expression.source, expression.flags]


def _coded(pattern: str) -> tuple[str, int]:
    expression = translate(pattern, re.ASCII, line=True)
    return expression.source, int("i" in expression.flags)


Phrases = tuple[str, ...]


def _phrases(fact: Fact) -> Iterator[Phrases]:
    """Yield every list of words of a fact."""
    for value in fact.values:
        yield from (value.said_as.en, value.said_as.ko, value.hinted_as.en, value.hinted_as.ko, value.shown_as)
    yield from (fact.not_said_as.en, fact.not_said_as.ko)


def _words(fact: Fact, held: Mapping[str, list[int]]) -> list[Any]:
    def said(en: Phrases, ko: Phrases) -> list[Any]:
        """Return the phrases of both languages, each as its source and its pieces; None where there are none."""
        return [_said(en, held, korean=False) if en else None, _said(ko, held, korean=True) if ko else None]

    values = [
        [
            value.value,
            value.share,
            said(value.said_as.en, value.said_as.ko),
            said(value.hinted_as.en, value.hinted_as.ko),
            said(value.shown_as, ()),
        ]
        for value in fact.values
    ]
    return [fact.id, values, said(fact.not_said_as.en, fact.not_said_as.ko)]


def _said(phrases: Phrases, held: Mapping[str, list[int]], *, korean: bool) -> list[list[Any]]:
    found = []
    for phrase in words.longest_first(phrases):
        source = translate(words.phrase(phrase, korean=korean), re.IGNORECASE).source
        for mark, written in MARKS.items():
            source = source.replace(written, mark)
        found.append([source, *(held[phrase][:1] or [ANY_HANGUL] * bool(HANGUL.search(phrase)))])
    return found


def _part(phrase: str) -> list[str] | None:
    """Return the longest part of a phrase that stands in a text as written; None where it is too short to be found."""
    part = max(re.split(r"[\s*…]+", phrase), key=len)
    return [part] if len(part) >= SHORTEST else None


def _background(catalogue: Catalogue) -> Counter[str]:
    """Return how often each piece comes in what people and programs write, by what the catalogue quotes."""
    counts: Counter[str] = Counter()
    for entry in catalogue.entries:
        texts = [side for text in (entry.summary, *entry.symptoms) for side in (text.en, text.ko)]
        texts += [signature.example or "" for signature in entry.signatures]
        for text in texts:
            counts.update(_pieces(text.lower()))
    return counts


def _pieces(text: str) -> set[str]:
    if len(text) <= PIECE:
        return {text}
    return {text[at : at + PIECE] for at in range(len(text) - PIECE + 1)}


def cover(needed: Sequence[Iterable[str] | None], common: Mapping[str, int]) -> tuple[list[str], list[list[int]]]:
    """Choose few short pieces, seldom in other text, of which every needed literal contains one.

    Return the pieces, in lower case, and for each set of literals the numbers of its pieces.
    """
    literals = {literal.lower() for some in needed for literal in some or ()}
    holders: dict[str, set[str]] = {}
    for literal in sorted(literals):
        for piece in _pieces(literal):
            holders.setdefault(piece, set()).add(literal)
    weight = {piece: 1.0 / (1 + common.get(piece, 0)) for piece in holders}
    waiting = [(-len(found) * weight[piece], piece) for piece, found in holders.items()]
    heapq.heapify(waiting)
    left = set(literals)
    piece_of: dict[str, str] = {}
    while left:
        worth, piece = heapq.heappop(waiting)
        now = -len(holders[piece] & left) * weight[piece]
        if now > worth:  # others have taken some of its literals since
            if now:
                heapq.heappush(waiting, (now, piece))
            continue
        for literal in holders[piece] & left:
            piece_of[literal] = piece
        left -= holders[piece]
    pieces = sorted(set(piece_of.values()))
    number = {piece: index for index, piece in enumerate(pieces)}
    chosen = [sorted({number[piece_of[literal.lower()]] for literal in some or ()}) for some in needed]
    return pieces, chosen
