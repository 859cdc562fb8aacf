"""The search index for the browser: what `distkb.search` works on, in parts that a page loads as it needs them.

The index holds both languages, since a question in one is often answered by words of the other, and is several times
what a page should load. So the words with their postings are cut, in order, into scripts of some kilobytes each, and
a search loads the few that its words are in. `site/assets/text.js` reads all this.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from distkb.docsite import messages
from distkb.docsite.data.packed import ALPHABET, fronts, number, numbers, signed, steps
from distkb.docsite.data.pieces import PIECE, cover
from distkb.docsite.data.regex import Expression, translate
from distkb.docsite.scripts import address, script
from distkb.evidence.scanner.literals import required_literals
from distkb.search import keyboard, query, tokens, weights, words
from distkb.search.forms import is_topic
from distkb.search.index import IMPACT_UNIT, Index, Payload, SignatureRow, Term, load

if TYPE_CHECKING:
    from distkb.docsite.views import Library

_PART = 3_000
"""Characters of a part: what a search loads for a word that nobody asked for yet."""
_LINES = 9_000
"""The same of patterns, of which a printed line that nobody foresaw takes many."""
_RESIDUE = 2.0**22
"""Rarities are computed in the browser from rounded weights; what they are off by is kept in this unit."""
_MANTISSA = 2**22
"""Norms of passages keep as many bits."""

LISTS: Mapping[str, frozenset[str]] = {
    "particles": words.PARTICLES,
    "stop": words.STOP_WORDS,
    "weak": words.WEAK_WORDS,
    "stopHangul": words.STOP_HANGUL,
    "stopPairs": words.STOP_BIGRAMS,
    "solid": words.SOLID_WORDS,
}
KINDS = ("word", "weak", "whole", "part", "number", "pair", "single", "concept", "generic")
NUMBERS: Mapping[str, float] = {
    "maxChars": tokens.MAX_CHARS,
    "impactUnit": IMPACT_UNIT,
    "fullImpact": weights.K1 + 1.0,
    "touch": weights.TOUCH,
    "conceptRarity": weights.CONCEPT_RARITY,
    "askedRarity": weights.ASKED_RARITY,
    "passage": weights.PASSAGE,
    "signature": weights.SIGNATURE,
    "corrected": weights.CORRECTED,
    "covered": weights.COVERED,
    "first": weights.FIRST,
    "related": weights.RELATED,
    "justBelow": weights.JUST_BELOW,
    "otherLanguage": weights.OTHER_LANGUAGE,
    "maxCorrections": query.MAX_CORRECTIONS,
    "minLetters": keyboard.MIN_LETTERS,
    "minKeys": keyboard.MIN_KEYS,
    "maxKeys": keyboard.MAX_KEYS,
}


def scripts(library: Library) -> Iterator[tuple[str, bytes]]:
    """Yield the scripts of the index by name: the parts, what corrects typos, the patterns, and what leads to them.

    `search-index.js` is the one that a page loads first; it knows the others.
    """
    payload = _payload(library)
    index = Index(payload)
    parts: list[tuple[str, bytes]] = []
    cuts: list[str] = []
    for first, value in _parts(payload, index):
        parts.append((f"search-{len(cuts)}.js", script(f"search{len(cuts)}", value)))
        cuts.append(first)
    known = _by_initial((*index.latin_words, *index.hangul_words))
    typos = [(f"search-typos-{n}.js", script(f"searchTypos{n}", fronts(some))) for n, some in enumerate(known.values())]
    pieces, lines = _lines([*index.signatures, *_unlisted(index.signatures, library)], _said(library))
    line_parts = _line_parts([row for row, _ in lines], messages.shown(library))
    patterns = [(f"search-lines-{n}.js", script(f"searchLines{n}", rows)) for n, rows in enumerate(line_parts)]
    core: dict[str, Any] = {
        "ids": index.ids,
        "alphabet": ALPHABET,
        "lists": {name: " ".join(sorted(listed)) for name, listed in LISTS.items()},
        "numbers": {**NUMBERS, "residue": _RESIDUE, "mantissa": _MANTISSA},
        "kinds": {kind: weights.weight(kind) for kind in KINDS},
        "layout": [[first, " ".join(keys)] for first, keys in keyboard.LAYOUT.items()],
        "related": numbers(n for row in index.related for n in (len(row), *steps(row))),
        **_passages(index),
        "cuts": cuts,
        "parts": [_file(part) for part in parts],
        "initials": "".join(known),
        "typos": [_file(part) for part in typos],
        "pieces": pieces,
        "hints": numbers(n for _, hint in lines for n in (len(hint), *hint)),
        "lines": [len(rows) for rows in line_parts],
        "patterns": [_file(part) for part in patterns],
    }
    yield "search-index.js", script("searchIndex", core)
    yield from parts
    yield from typos
    yield from patterns


def _file(named: tuple[str, bytes]) -> str:
    return address(*named).rpartition("/")[2]


def _payload(library: Library) -> Payload:
    from distkb.search.build import payload_of

    if library.search:
        return load_payload(library.search)
    return payload_of(library.catalogue)


@lru_cache(maxsize=2)
def load_payload(data: bytes) -> Payload:
    """Read what the bytes of an index hold."""
    load(data)  # raises where the bytes are of another format
    return msgspec.msgpack.decode(data, type=Payload)


def _vocabulary(payload: Payload) -> list[str]:
    shelves = [msgspec.msgpack.decode(shelf, type=dict[str, bytes]) for shelf in payload.terms.values()]
    return sorted(word for shelf in shelves for word in shelf)


def _parts(payload: Payload, index: Index) -> Iterator[tuple[str, list[str]]]:
    """Yield the first word of each part and what the part holds: words, their numbers, forms, their concepts."""
    renumbered = {old: new for new, old in enumerate(_order(index))}
    terms = [(word, _term(index, word)) for word in _vocabulary(payload)]
    groups: list[list[tuple[str, Term]]] = [[]]
    size = 0
    for word, term in terms:
        weight = len(word) + 4 * len(term.impacts) + 2 * len(term.passages)
        if groups[-1] and size + weight > _PART:
            groups.append([])
            size = 0
        groups[-1].append((word, term))
        size += weight
    # What comes before the first word has no part of its own.
    firsts = [""] + [group[0][0] for group in groups[1:]]
    forms = _forms(payload)
    shares: list[list[str]] = [[] for _ in groups]
    for form in sorted(forms):
        shares[bisect_right(firsts, form.split(" ", 1)[0]) - 1].append(form)
    concepts = sorted({concept for named in forms.values() for concept in named})
    place = {concept: n for n, concept in enumerate(concepts)}
    for first, group, share in zip(firsts, groups, shares, strict=True):
        named = [forms[form] for form in share]
        yield (
            first,
            [
                fronts(word for word, _ in group),
                _numbers_of(group, renumbered, len(index.ids)),
                fronts(share),
                " ".join(sorted({concept for some in named for concept in some}, key=place.__getitem__)),
                _concepts_of(named, place),
            ],
        )


def _term(index: Index, word: str) -> Term:
    term = index.term(word)
    if term is None:
        raise KeyError(word)
    return term


def _numbers_of(group: Sequence[tuple[str, Term]], renumbered: Mapping[int, int], total: int) -> str:
    """Return the numbers of words, kind by kind: like compresses well with like."""
    counts = [n for _, term in group for n in (len(term.impacts), len(term.passages))]
    residues = [signed(round((term.idf - rarity(word, term, total)) * _RESIDUE)) for word, term in group]
    entries = [step for _, term in group for step in steps(entry for entry, _ in term.impacts)]
    impacts = [impact for _, term in group for _, impact in term.impacts]
    passages = [step for _, term in group for step in steps(sorted(renumbered[n] for (n,) in term.passages))]
    return numbers([*counts, *residues, *entries, *impacts, *passages])


def rarity(word: str, term: Term, total: int) -> float:
    """Return a word's rarity as far as its rounded weights tell it."""
    full = weights.K1 + 1.0
    having = sum(max(weights.TOUCH, impact * IMPACT_UNIT / full) for _, impact in term.impacts)
    rare = math.log(1.0 + (total - having + 0.5) / (having + 0.5))
    return max(rare, weights.CONCEPT_RARITY) if is_topic(word) else rare


def _forms(payload: Payload) -> dict[str, tuple[str, ...]]:
    """Return the forms of the glossary, as atoms joined by spaces, with their concepts."""
    return {
        form: concepts
        for group in payload.forms.values()
        for form, concepts in msgspec.msgpack.decode(group, type=dict[str, tuple[str, ...]]).items()
    }


def _concepts_of(named: Sequence[tuple[str, ...]], place: Mapping[str, int]) -> str:
    """Return, for each form, how many concepts it has, and which of those of its part."""
    own = sorted({place[concept] for some in named for concept in some})
    local = {number: n for n, number in enumerate(own)}
    return numbers(n for some in named for n in (len(some), *(local[place[concept]] for concept in some)))


def _order(index: Index) -> list[int]:
    """Return the passages as the browser numbers them: those of one language together, which compresses better."""
    return sorted(range(len(index.passage_owner)), key=lambda n: (index.passage_lang[n], index.passage_owner[n], n))


def _passages(index: Index) -> dict[str, str]:
    """Return how many passages each entry has in each language, and the norm of each."""
    order = _order(index)
    counts = [[0] * len(index.ids) for _ in range(3)]
    for n in order:
        counts[index.passage_lang[n]][index.passage_owner[n]] += 1
    norms: list[str] = []
    for n in order:
        mantissa, exponent = math.frexp(index.passage_norm[n])
        norms.append(number(round(mantissa * _MANTISSA)) + ALPHABET[min(40, max(0, 8 - exponent))])
    return {"passages": numbers(n for row in counts for n in row), "norms": "".join(norms)}


def _by_initial(known: Iterable[str]) -> dict[str, list[str]]:
    """Group words by their first letter or jamo: a typo is looked for among those only."""
    groups: dict[str, list[str]] = {}
    for word in known:
        groups.setdefault(unicodedata.normalize("NFD", word)[0], []).append(word)
    return groups


def _unlisted(rows: Sequence[SignatureRow], library: Library) -> Iterator[SignatureRow]:
    """Yield rows for the lines that have a page and speak for no entry, which the program does not search."""
    listed = {row.id for row in rows}
    for identity, line in messages.lines(library).items():
        if identity not in listed and (literals := required_literals(line.signature.pattern)):
            yield SignatureRow(identity, line.signature.pattern, tuple(literals), ())


def _said(library: Library) -> list[str]:
    """Return how people may put their questions, by what the catalogue says of its entries."""
    texts = [text for entry in library.catalogue.entries for text in (entry.title, *entry.symptoms)]
    return [side.lower() for text in texts for side in (text.en, text.ko)]


def _lines(rows: Sequence[SignatureRow], said: Sequence[str]) -> tuple[list[str], list[tuple[SignatureRow, list[int]]]]:
    """Return short pieces of text, and the signatures with the pieces of which a matching line has one.

    The signatures that ordinary questions have to be tried against come first, so that few parts have them all.
    """
    asked: dict[str, set[int]] = {}
    for place, text in enumerate(said):
        for at in range(len(text) - PIECE + 1):
            asked.setdefault(text[at : at + PIECE], set()).add(place)
    pieces, hints = cover([row.literals for row in rows], {piece: len(texts) for piece, texts in asked.items()})
    tried = [
        asked.get(piece, set()) if len(piece) == PIECE else {n for n, text in enumerate(said) if piece in text}
        for piece in pieces
    ]
    worth = [len(set().union(*(tried[n] for n in hint))) for hint in hints]
    order = sorted(range(len(rows)), key=lambda n: (-worth[n], rows[n].id, hints[n]))
    return pieces, [(rows[n], hints[n]) for n in order]


def _line_parts(rows: Sequence[SignatureRow], shown: Mapping[str, str]) -> list[list[list[Any]]]:
    """Return the signatures with their entries and translated patterns, in parts; id and text where one has a page."""
    parts: list[list[list[Any]]] = [[]]
    size = 0
    for row in rows:
        expression = lighter(translate(row.pattern))
        if parts[-1] and size + len(expression.source) > _LINES:
            parts.append([])
            size = 0
        page = [row.id, shown[row.id]] if row.id in shown else []
        parts[-1].append([*expression, [n for pair in row.entries for n in pair], *page])
        size += len(expression.source)
    return parts


_LETTERS = r"\p{L}\p{N}_"
_RANGES = r"\w\xaa\xb5\xba\xc0-\xd6\xd8-\xf6\xf8-\u1fff\u2c00-\u2dff\u3005-\ud7ff\uf900-\uffdc"
"""The same to any text that a search is for: in the ranges, marks and signs that stand between letters count too."""
_BORDER = f"(?:(?<=[{_RANGES}])(?![{_RANGES}])|(?<![{_RANGES}])(?=[{_RANGES}]))"
_BEFORE = re.compile(re.escape(_BORDER) + r"(?=[A-Za-z0-9_가-힣](?![?*{]))")
_AFTER = re.compile(r"(?<=[^\\]{6}[A-Za-z가-힣])" + re.escape(_BORDER))


def lighter(expression: Expression) -> Expression:
    """Return a translated pattern that a browser compiles many times faster.

    Properties of characters become ranges, where a letter stands beside the border of a word only what is on its other
    side is looked at, and the `u` flag goes where nothing needs it: signs beyond the first 65,536 then count as two.
    """
    source = expression.source.replace(_LETTERS, _RANGES).replace(r"\p{Nd}", r"\d")
    source = _BEFORE.sub(lambda _: f"(?<![{_RANGES}])", source)
    source = _AFTER.sub(lambda _: f"(?![{_RANGES}])", source)
    needed = re.search(r"\\[pPu]\{", source) or max(map(ord, source)) > 0xFFFF
    return Expression(source, expression.flags if needed else expression.flags.replace("u", ""))
