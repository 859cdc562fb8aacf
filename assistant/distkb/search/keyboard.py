"""Words that were typed with the keyboard in the other mode: `apahfl` is 메모리, and `ㅜㅊ치` is nccl.

Korean keyboards have two modes, and the key between them is easily forgotten. In the two-set layout (KS X 5002) every
letter key has a jamo, so each mode's text can be read back as the other's. A word is read back only where it means
nothing as it stands and the index knows what comes out.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from distkb.search.tokens import pieces, stem
from distkb.search.words import STOP_WORDS, WEAK_WORDS

if TYPE_CHECKING:
    from distkb.search.index import Index


def _keys(listed: str) -> tuple[str, ...]:
    return tuple(listed.split(" "))


LAYOUT = {
    0x1100: _keys("r R s e E f a q Q t T d w W c z x v g"),
    0x1161: _keys("k o i O j p u P h hk ho hl y n nj np nl b m ml l"),
    0x11A8: _keys("r R rt s sw sg e f fr fa fq ft fx fv fg a q qt t T d w c z x v g"),
}
"""Keys of the first consonants, the vowels and the last consonants, by the jamo of which they are the first ones."""
MIN_LETTERS, MIN_KEYS, MAX_KEYS = 3, 4, 40
"""Letters that a word of jamo gives at least, and keys that a word of letters has; shorter ones are laughter (ㅋㅋ)."""

_WORD = re.compile(r"[^\s?!,;]+")


def retyped(index: Index, text: str) -> str:
    """Return a text with the words read back that mean something only in the other mode."""
    return _WORD.sub(lambda match: _retyped(index, match.group()), text)


def _retyped(index: Index, word: str) -> str:
    if any("\u3131" <= char <= "\u3163" for char in word):
        letters = keys_of(word)
        return letters if len(letters) >= MIN_LETTERS and _known(index, letters) else word
    lower = word.lower()
    if not (MIN_KEYS <= len(word) <= MAX_KEYS and word.isascii() and word.isalpha()):
        return word
    if lower in STOP_WORDS or lower in WEAK_WORDS or stem(lower) in index:
        return word
    typed = typed_as_hangul(word)
    return typed if typed is not None and _known(index, typed) else word


def _known(index: Index, text: str) -> bool:
    """Whether the index knows all Latin words of a text, and more than half of the pairs of its Korean ones."""
    found = [piece for piece in pieces(text) if piece.tokens]
    return bool(found) and all(
        2 * sum(token.text in index for token in piece.tokens) > len(piece.tokens)
        if piece.hangul
        else piece.tokens[0].text in index
        for piece in found
    )


def keys_of(word: str) -> str:
    """Return the keys with which a word of syllables and jamo was typed; other characters stay."""
    key = {chr(first + place): key for first, keys in LAYOUT.items() for place, key in enumerate(keys)}
    return "".join(key.get(char, char) for char in unicodedata.normalize("NFKD", word))


def typed_as_hangul(word: str) -> str | None:
    """Return the Korean word that these keys type, None where not all of them make whole syllables."""
    shifted = {key for keys in LAYOUT.values() for key in keys if key.isupper()}
    typed = "".join(key if key in shifted else key.lower() for key in word)
    lead, vowel, tail = ("|".join(sorted(keys, key=len, reverse=True)) for keys in LAYOUT.values())
    # A consonant before a vowel begins the next syllable.
    syllable = re.compile(f"({lead})({vowel})(?:({tail})(?!{vowel}))?")
    out: list[str] = []
    at = 0
    while at < len(typed):
        match = syllable.match(typed, at)
        if match is None:
            return None
        typed_keys = zip(LAYOUT.items(), match.groups(), strict=True)
        out += [chr(first + keys.index(key)) for (first, keys), key in typed_keys if key is not None]
        at = match.end()
    return unicodedata.normalize("NFC", "".join(out))
