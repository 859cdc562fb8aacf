"""Deterministic tokens of English, Korean and mixed text, simple enough to be ported to JavaScript.

The rules, in order (`tests/search/golden/tokens.json` holds inputs and their tokens):

1. Text is cut at `MAX_CHARS`, normalised with NFKC (full-width Latin becomes ASCII, decomposed Hangul is composed),
   and scanned for pieces: runs of Hangul syllables, and chunks of ASCII letters and digits whose parts may be
   joined by one of `_ - . ::`. Everything else separates pieces.
2. A chunk of digits and dots is one `number` (`2.13.0`, also with a leading `v`); three parts also give the
   first two (`2.13`). A number written after a minus sign that follows no letter, digit or closing bracket also
   gives the negative number (`-9`).
3. Any other chunk is split at its joints, then at camel-case borders, unless this would leave a part of one or two
   letters that is no stop word (`ZeRO`, `PyTorch`), or the word is in `SOLID_WORDS`; `GPUs` is `GPU`. Digits after
   letters stay (`bf16`, `fsdp2`).
   A chunk that was split gives the whole chunk as `whole`, joints written as `_` (`-`, `_`) or `.` (`.`, `::`), and
   every dotted segment that is itself a compound; every part follows as `part`. A chunk of one part is a `word`.
   A part that starts with digits (`32GB`) also gives its digits and its letters. A part of three or more letters
   with trailing digits (`stage3`) also gives the letters.
4. Parts and words are lower-cased and stemmed (`stem`); single letters and `STOP_WORDS` give no token;
   a word in `WEAK_WORDS` is `weak`.
5. Hangul written directly after a chunk is dropped if it is a particle; after a chunk that ends in a digit, a
   counter of one syllable loses its particle (`8장으로` is `8`, `장`). A Hangul run in `STOP_HANGUL` gives no token,
   a run of one syllable gives it as `single`, longer runs give each pair of neighbouring syllables as `pair`, without
   the pairs in `STOP_BIGRAMS`.

Besides tokens a piece has atoms, for matching phrases: stemmed parts (stop words included) or single syllables.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Literal, NamedTuple

from distkb.search.words import PARTICLES, SOLID_WORDS, STOP_BIGRAMS, STOP_HANGUL, STOP_WORDS, WEAK_WORDS

MAX_CHARS = 20_000
"""Longest text that is read; a query is a line, a report a page."""

Kind = Literal["word", "weak", "whole", "part", "number", "pair", "single"]


class Token(NamedTuple):
    """A token and where it comes from, which decides how much it weighs."""

    text: str
    kind: Kind


class Piece(NamedTuple):
    """A run of Hangul or a Latin chunk: its tokens, its atoms, and how it joins the piece before it."""

    text: str
    tokens: tuple[Token, ...]
    atoms: tuple[str, ...]
    hangul: bool
    joined: bool
    """Only spaces, hyphens or slashes (or nothing) stand between this piece and the one before."""


_PIECE = re.compile(r"([가-힣]+)|([A-Za-z0-9]+(?:(?:_+|-|\.|::)[A-Za-z0-9]+)*)")
# Compiled when first needed: most queries have no camel case, and compiling is what a cold start pays for.
_CAMEL = r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+[A-Za-z]*\d*"
_LETTERS = r"[A-Za-z]+"
_JOINING = " \t-/'\"`"
_DIGITS = "0123456789"
_VOWELS = frozenset("aeiouy")


def normalise(text: str) -> str:
    """Cut to `MAX_CHARS` and normalise with NFKC, so that equal-looking texts are equal."""
    return unicodedata.normalize("NFKC", text[:MAX_CHARS])


def stem(word: str) -> str:
    """Strip the endings -s, -ed, -ing and -e from a lower-case English word of four or more letters.

    Other forms (`hung`, `froze`) are the glossary's business. A word with other characters is returned as is.
    """
    if len(word) < 4 or not word.isalpha():
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "xes", "ches", "shes")):
        word = word[:-2]
    elif word.endswith("pus") or (word.endswith("s") and not word.endswith(("ss", "us", "is"))):
        word = word[:-1]
    for ending in ("ing", "ed"):
        rest = word[: -len(ending)]
        if word.endswith(ending) and not word.endswith("eed") and len(rest) >= 3 and not _VOWELS.isdisjoint(rest):
            double = len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lsz"
            word = rest[:-1] if double else rest
            break
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return word


def pieces(text: str) -> list[Piece]:
    """Split text into Hangul runs and Latin chunks, each with its tokens and atoms."""
    text = normalise(text)
    found: list[Piece] = []
    end = 0
    after_latin = False
    for match in _PIECE.finditer(text):
        start = match.start()
        joined = bool(found) and not text[end:start].strip(_JOINING)
        hangul = match.group(1)
        if hangul is not None:
            if after_latin and start == end:
                hangul = _unglue(hangul, text[start - 1])
            if hangul:
                found.append(Piece(hangul, _hangul_tokens(hangul), tuple(hangul), True, joined))
        else:
            negative = start > 0 and text[start - 1] == "-" and not _is_tail(text[start - 2 : start - 1])
            found.append(_latin_piece(match.group(2), negative, joined))
        after_latin = hangul is None
        end = match.end()
    return found


def tokenize(text: str) -> list[Token]:
    """List the tokens of a text, in order, repeats included."""
    return [token for piece in pieces(text) for token in piece.tokens]


def written_words(text: str) -> list[str]:
    """List the runs of letters of a text's Latin chunks, in lower case and not stemmed."""
    chunks = (match.group(2) for match in _PIECE.finditer(normalise(text)))
    return [word.lower() for chunk in chunks if chunk for word in re.findall(_LETTERS, chunk)]


def _is_tail(char: str) -> bool:
    """Whether a minus sign after this character joins or subtracts rather than negates."""
    return char.isalnum() or char in (")", "]", "-") if char else False


def _unglue(run: str, before: str) -> str:
    """What is left of a Hangul run written directly after a Latin chunk that ends in `before`."""
    if run in PARTICLES:
        return ""
    if before.isdigit() and run[1:] in PARTICLES:
        return run[0]
    return run


@lru_cache(maxsize=8192)
def _hangul_tokens(run: str) -> tuple[Token, ...]:
    if run in STOP_HANGUL:
        return ()
    if len(run) == 1:
        return (Token(run, "single"),)
    pairs = (run[i : i + 2] for i in range(len(run) - 1))
    return tuple(Token(pair, "pair") for pair in pairs if pair not in STOP_BIGRAMS)


def _latin_piece(chunk: str, negative: bool, joined: bool) -> Piece:
    tokens, atoms = _latin_tokens(chunk, negative)
    return Piece(chunk, tokens, atoms, False, joined)


@lru_cache(maxsize=32768)
def _latin_tokens(chunk: str, negative: bool) -> tuple[tuple[Token, ...], tuple[str, ...]]:
    """Tokens and atoms of a chunk."""
    digits = chunk.lstrip("vV") if chunk[0] in "vV" and chunk[1:2].isdigit() else chunk
    if digits.replace(".", "").isdigit():
        return _number_tokens(digits, negative and digits == chunk), (digits,)
    segments = chunk.replace("::", ".").split(".")
    split = [_parts(segment) for segment in segments]
    parts = [part for segment in split for part in segment]
    tokens: list[Token] = []
    if len(parts) > 1:
        tokens.append(Token(_whole(chunk), "whole"))
        if len(segments) > 1:
            tokens += [Token(_whole(s), "whole") for s, ps in zip(segments, split, strict=True) if len(ps) > 1]
    for part in parts:
        tokens += _part_tokens(part, "part" if len(parts) > 1 else "word")
    return tuple(tokens), tuple(stem(part.lower()) for part in parts)


def _number_tokens(digits: str, negative: bool) -> tuple[Token, ...]:
    texts = [digits]
    if digits.count(".") == 2:
        texts.append(digits[: digits.rindex(".")])
    if negative:
        texts.append("-" + digits)
    return tuple(Token(text, "number") for text in texts)


def _whole(chunk: str) -> str:
    dotted = chunk.lower().replace("::", ".").replace("-", "_")
    while "__" in dotted:
        dotted = dotted.replace("__", "_")
    return dotted


def _parts(segment: str) -> list[str]:
    """Parts of one dotted segment, as written."""
    parts: list[str] = []
    for name in segment.replace("-", "_").split("_"):
        if not name:
            continue
        if len(name) > 2 and name[-1] == "s" and name[0].isalpha() and name[:-1].isupper():
            parts.append(name[:-1])
            continue
        whole = name in SOLID_WORDS or name.islower() or name.isupper()
        camel = [name] if whole else re.findall(_CAMEL, name)
        parts += [name] if any(map(_is_fragment, camel)) else camel
    return parts


def _is_fragment(part: str) -> bool:
    """Whether a part is too short to stand alone."""
    return len(part.rstrip(_DIGITS)) < 3 and not part.isdigit() and part.lower() not in STOP_WORDS


def _part_tokens(part: str, kind: Kind) -> list[Token]:
    lower = part.lower()
    if lower.isdigit():
        return [Token(lower, "number")]
    if len(lower) == 1 or lower in STOP_WORDS:
        return []
    tokens = [Token(stem(lower), "weak" if kind == "word" and lower in WEAK_WORDS else kind)]
    unit = lower.lstrip(_DIGITS)
    if unit != lower:
        tokens.append(Token(lower[: -len(unit)], "number"))
        unit = unit.rstrip(_DIGITS)
        if len(unit) > 1 and unit.isalpha():
            tokens.append(Token(unit, "part"))
        return tokens
    letters = lower.rstrip(_DIGITS)
    if letters != lower and len(letters) >= 3 and letters.isalpha():
        tokens.append(Token(stem(letters), "part"))
    return tokens
