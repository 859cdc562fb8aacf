"""Words that were typed with the keyboard in the other mode: `apahfl` is 메모리, and `ㅜㅊ치` is nccl.

Korean keyboards have two modes, and the key between them is easily forgotten. In the two-set layout (KS X 5002) every
letter key has a jamo, so each mode's text can be read back as the other's. A word is read back only where it means
nothing as it stands and the index knows what comes out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from distkb.search.tokens import pieces, stem
from distkb.search.words import STOP_WORDS, WEAK_WORDS

if TYPE_CHECKING:
    from distkb.search.index import Index


def _keys(listed: str) -> tuple[str, ...]:
    return tuple(listed.split(" "))


LEADS = _keys("r R s e E f a q Q t T d w W c z x v g")
"""Keys of the first consonants, in the order of Unicode's syllables; so are the vowels and the last consonants."""
VOWELS = _keys("k o i O j p u P h hk ho hl y n nj np nl b m ml l")
TAILS = _keys(" r R rt s sw sg e f fr fa fq ft fx fv fg a q qt t T d w c z x v g")
SINGLES = (*_keys("r R rt s sw sg e E f fr fa fq ft fx fv fg a q Q qt t T d w W c z x v g"), *VOWELS)
"""Keys of the jamo that stand alone, from U+3131 on."""
MIN_LETTERS, MIN_KEYS = 3, 4
"""Letters that a word of jamo gives at least, and keys that a word of letters has; shorter ones are laughter (ㅋㅋ)."""

_WORD = re.compile(r"[^\s?!,;]+")
_KEYS = re.compile(rf"[A-Za-z]{{{MIN_KEYS},40}}")
_JAMO = re.compile("[\u3131-\u3163]")
_SHIFTED = re.compile("[A-Z]")
_SYLLABLE = (
    f"({'|'.join(sorted(LEADS, key=len, reverse=True))})"
    f"({'|'.join(sorted(VOWELS, key=len, reverse=True))})"
    f"((?:{'|'.join(sorted(TAILS[1:], key=len, reverse=True))})(?![hynjpkoiOuPbml]))?"
)


def retyped(index: Index, text: str) -> str:
    """Return a text with the words read back that mean something only in the other mode."""
    return _WORD.sub(lambda match: _retyped(index, match.group()), text)


def _retyped(index: Index, word: str) -> str:
    if _JAMO.search(word):
        letters = keys_of(word)
        return letters if len(letters) >= MIN_LETTERS and _known(index, letters) else word
    lower = word.lower()
    if not _KEYS.fullmatch(word) or lower in STOP_WORDS or lower in WEAK_WORDS or stem(lower) in index:
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
    out: list[str] = []
    for char in word:
        code = ord(char)
        if 0xAC00 <= code <= 0xD7A3:
            code -= 0xAC00
            out += LEADS[code // 588], VOWELS[code % 588 // 28], TAILS[code % 28]
        else:
            out.append(SINGLES[code - 0x3131] if 0x3131 <= code <= 0x3163 else char)
    return "".join(out)


def typed_as_hangul(word: str) -> str | None:
    """Return the Korean word that these keys type, None where not all of them make whole syllables."""
    # Only these keys have another jamo with Shift.
    keys = _SHIFTED.sub(lambda match: match.group() if match.group() in "RETQWOP" else match.group().lower(), word)
    syllable = re.compile(_SYLLABLE)
    out: list[str] = []
    at = 0
    while at < len(keys):
        match = syllable.match(keys, at)
        if match is None:
            return None
        lead, vowel, tail = match.group(1, 2, 3)
        out.append(chr(0xAC00 + LEADS.index(lead) * 588 + VOWELS.index(vowel) * 28 + TAILS.index(tail or "")))
        at = match.end()
    return "".join(out)
