"""Both languages are there, each is written in its own script, and the Korean keeps one register."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from distkb.catalogue.checks.walk import places, written
from distkb.catalogue.draft import MARKS
from distkb.catalogue.model import Text, Words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.catalogue.checks.walk import TextNode
    from distkb.catalogue.load import Loaded, Located
    from distkb.catalogue.problem import Problem

_HANGUL = re.compile("[가-힣]")
_TODO = re.compile(r"\bTODO\b")
_CODE = re.compile(r"`[^`]*`")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|‘[^’]*’|「[^」]*」|(?<![A-Za-z])'[^']*'")
_ASIDE = re.compile(r"\s*\([^()]*\)")
_SENTENCE_END = re.compile(r"(?<![.!?])[.?!](?=\s|$)")
_LATIN_WORD = re.compile(r"[A-Za-z]{2,}")
_FORMAL = ("니다", "니까", "세요")
_POLITE_NOUNS: Final = frozenset("필중개수주소강")
"""Syllables before 요 in nouns (필요, 중요, 개요, ...): these are not the 해요 register."""
_LOOSE_PARTICLE = re.compile(
    r"[A-Za-z0-9_`)\]]\s(?:은|는|가|을|를|의|에|로|으로|와|과|에서|"
    r"이(?!\s(?:값|경우|때|줄|오류|방법|설정|변수|문제|함수|옵션|파일|메시지|환경|버전|단계|상태|코드|둘|중|신호|명령)))"
    r"(?=[\s.,)?!]|$)"
)
UNWRITTEN: Final = "is not written yet"
"""Said of a TODO."""
_MOST_LATIN_WORDS: Final = 3


def check_texts(loaded: Loaded) -> Iterator[Problem]:
    """Report texts that are missing, in the wrong language, unfinished or out of register."""
    for record in written(loaded):
        for place in places(record.value):
            if isinstance(place.value, Text):
                yield from _text(record, place, place.value)
            elif isinstance(place.value, Words):
                yield from _words(record, place, place.value)
            else:
                yield from _string(record, place, place.value)


def _string(record: Located, place: TextNode, text: str) -> Iterator[Problem]:
    if not text.strip():
        yield record.problem(f"'{place.field}' is empty", *place.key)
    elif _TODO.search(text):
        yield record.problem(f"'{place.field}' {UNWRITTEN}: {_short(text)}", *place.key)


def _words(record: Located, place: TextNode, words: Words) -> Iterator[Problem]:
    for language, phrases in (("en", words.en), ("ko", words.ko)):
        seen: set[str] = set()
        for index, phrase in enumerate(phrases):
            at = (*place.key, language, index)
            if not phrase.strip():
                yield record.problem(f"'{language}' item {index + 1} is empty", *at)
            elif _TODO.search(phrase):
                yield record.problem(f"'{place.field}' {UNWRITTEN}: {_short(phrase)}", *at)
            elif phrase.casefold() in seen:
                same = phrase in phrases[:index]
                yield record.problem(f"'{phrase}' is in the list twice", *at, warning=not same)
            elif language == "en" and _HANGUL.search(phrase):
                yield record.problem(f"Hangul among the English words: {_short(phrase)}", *at)
            seen.add(phrase.casefold())


def _text(record: Located, place: TextNode, text: Text) -> Iterator[Problem]:
    complete = True
    for language, words in (("en", text.en), ("ko", text.ko)):
        if not words.strip():
            yield record.problem(f"'{place.field}' has no text in '{language}'", *place.key, language)
            complete = False
        elif _TODO.search(words):
            yield record.problem(f"'{place.field}' {UNWRITTEN}: {_short(words)}", *place.key, language)
            complete = False
    if not complete or (_in_one_language(text) and getattr(record.value, "status", "") == "draft"):
        return
    if _HANGUL.search(_without_code(text.en)):
        yield record.problem(f"Hangul in the English text: {_short(text.en)}", *place.key, "en")
    if not _HANGUL.search(text.ko) and len(_LATIN_WORD.findall(_without_code(text.ko))) > _MOST_LATIN_WORDS:
        same = " and is the English text again" if text.en.strip() == text.ko.strip() else ""
        yield record.problem(f"the Korean text has no Hangul{same}", *place.key, "ko")
        return
    voice_of_the_user = "symptoms" in place.key
    for ending in out_of_register(text.ko):
        message = f"'…{ending}' is not 합니다체: end the sentence in 니다, 니까 or 세요"
        yield record.problem(message, *place.key, "ko", warning=voice_of_the_user)
    for match in _LOOSE_PARTICLE.finditer(text.ko):
        around = text.ko[max(0, match.start() - 8) : match.end()].lstrip()
        yield record.problem(f"a space before the particle: '{around}'", *place.key, "ko", warning=True)


def _in_one_language(text: Text) -> bool:
    return text.en.removeprefix(MARKS["en"]) == text.ko.removeprefix(MARKS["ko"])


def out_of_register(korean: str) -> list[str]:
    """Return the ends of the sentences that are not 합니다체.

    Quotations, code and asides in brackets are not judged, nor is a phrase without a full stop, such as a title,
    unless it ends in the 해요 register.
    """
    text = _ASIDE.sub("", _QUOTED.sub("", _without_code(korean)))
    ends = [(text[: match.start()].rstrip(), True) for match in _SENTENCE_END.finditer(text)]
    rest = _SENTENCE_END.split(text)[-1].rstrip()
    if rest:
        ends.append((rest, False))
    return [_last_word(end) for end, stopped in ends if _is_informal(end, stopped=stopped)]


def _is_informal(sentence: str, *, stopped: bool) -> bool:
    if not sentence or not _HANGUL.fullmatch(sentence[-1]) or sentence.endswith(_FORMAL):
        return False
    if sentence.endswith("아니요") and not stopped:
        return False
    if sentence[-1] == "요":
        return sentence[-2:-1] not in _POLITE_NOUNS or stopped
    return stopped


def _last_word(sentence: str) -> str:
    return sentence.rsplit(maxsplit=1)[-1][-8:]


def _without_code(text: str) -> str:
    return _CODE.sub("C", text)


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 50 else flat[:49] + "…"
