"""Korean particles that agree with the final sound of the word before them, Latin words and digits included."""

from __future__ import annotations

from typing import Literal

Final = Literal["vowel", "rieul", "consonant"]

PARTICLES: dict[str, tuple[str, str]] = {
    "이/가": ("이", "가"),
    "을/를": ("을", "를"),
    "은/는": ("은", "는"),
    "과/와": ("과", "와"),
    "으로/로": ("으로", "로"),
    "이라는/라는": ("이라는", "라는"),
}
"""Field name → the form after a final consonant and the form after a vowel."""

DIGITS: dict[str, Final] = dict(
    zip(
        "0123456789",
        (
            "consonant",
            "rieul",
            "vowel",
            "consonant",
            "vowel",
            "vowel",
            "consonant",
            "rieul",
            "rieul",
            "vowel",
        ),
        strict=True,
    )
)
LETTER_NAMES: dict[str, Final] = {"L": "rieul", "R": "rieul", "M": "consonant", "N": "consonant"}
"""Letters whose Korean name ends in a consonant; the others (에이, 비, 씨, …) end in a vowel."""

SPOKEN: dict[str, Final] = {
    "dtype": "consonant",
    "epoch": "consonant",
    "group": "consonant",
    "reduce": "vowel",
    "type": "consonant",
    "check": "vowel",
    "hub": "vowel",
    "bit": "vowel",
    "core": "vowel",
    "distkb": "vowel",
}
"""Words whose usual Hangul spelling is not what the letters suggest."""

_VOWELS = frozenset("aeiou")
SPOKEN_LENGTH = 4
"""Capitals from this length on that hold a vowel are read as a word: ADDR 어드레스, IFNAME 이프네임, but NCCL, MPI."""


def particle(before: str, pair: str) -> str:
    """Return the form of `pair`, such as `을/를`, that follows the text `before`."""
    after_consonant, after_vowel = PARTICLES[pair]
    final = final_sound(before)
    if final == "vowel" or (final == "rieul" and pair == "으로/로"):
        return after_vowel
    return after_consonant


def final_sound(text: str) -> Final:
    """Return how `text` ends when it is read aloud in Korean; marks and brackets at the end are not read."""
    word = _last_word(text)
    if not word:
        return "vowel"
    last = word[-1]
    if "가" <= last <= "힣":
        return _hangul(last)
    if last in DIGITS:
        return DIGITS[last]
    if not last.isascii() or not last.isalpha():
        return "vowel"
    if last.isupper() and not (len(word) >= SPOKEN_LENGTH and _VOWELS & set(word.lower())):
        return LETTER_NAMES.get(last, "vowel")
    return _latin(word)


def _last_word(text: str) -> str:
    """Return the run of letters and digits that `text` ends in."""
    end = len(text)
    while end and not text[end - 1].isalnum():
        end -= 1
    start = end
    while start and text[start - 1].isalnum() and text[start - 1].isascii() == text[end - 1].isascii():
        start -= 1
    return text[start:end]


def _hangul(syllable: str) -> Final:
    final = (ord(syllable) - 0xAC00) % 28
    if final == 0:
        return "vowel"
    return "rieul" if final == 8 else "consonant"


def _latin(word: str) -> Final:
    """Return the final sound of an English word as Korean engineers spell it (`run` 런, `file` 파일, `step` 스텝)."""
    word = word.lower()
    if word in SPOKEN:
        return SPOKEN[word]
    if word.endswith("e") and len(word) > 2 and word[-2] in "lmn":
        word = word[:-1]
    if word.endswith("l"):
        return "rieul"
    if word.endswith(("m", "n", "ng")):
        return "consonant"
    if word.endswith(("ock", "ack", "ick", "ook", "out")):
        return "consonant"
    short_vowel = len(word) > 2 and word[-2] in _VOWELS and word[-3] not in _VOWELS
    if word[-1] in "ptb" and short_vowel:
        return "consonant"
    return "vowel"
