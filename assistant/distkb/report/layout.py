"""Display widths and line wrapping for text that mixes Latin words, code and Hangul."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_CONTROL = (
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # operating-system commands: titles, links, clipboard
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # device-control and private strings
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colours, cursor movement
    r"|\x1b[ -/]*[0-~]?"
)
_SPACE = r"[\t\n\r\v\f\x85\u2028\u2029]+"
_UNIT = r"`[^`\n]+`\S*|\S+"
# Plain strings: compiling them at import would cost every command what only some texts need; `re` keeps them compiled.
_WIDE = frozenset("WF")


def clean(text: str) -> str:
    """Return untrusted `text` as one line that no terminal interprets.

    Escape sequences, control characters and bidirectional overrides go; what cannot be encoded is replaced.
    """
    if text.isascii() and text.isprintable():
        return text
    text = re.sub(_SPACE, " ", re.sub(_CONTROL, "", text))
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    category = unicodedata.category(char)
    if category == "Cs":
        return "\ufffd"
    # Cf holds the bidirectional overrides and the zero-width characters that hide or reorder what is read.
    return "" if category in {"Cc", "Cf"} else char


def width(text: str) -> int:
    """Return how many terminal columns `text` takes; Hangul takes two a syllable, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.east_asian_width(char) in _WIDE:
        return 2
    return 0 if unicodedata.category(char) in {"Mn", "Me", "Cf", "Cc"} else 1


def pad(text: str, columns: int) -> str:
    """Return `text` filled with spaces up to `columns` display columns."""
    return text + " " * max(0, columns - width(text))


def right(text: str, columns: int) -> str:
    """Return a text at the right end of so many columns, behind one space at least."""
    return " " * max(1, columns - width(text)) + text


def cut(text: str, columns: int) -> str:
    """Return `text` shortened to `columns` display columns, with an ellipsis where something is left out.

    It ends behind a word where one ends in the last third; a longer word, such as a path, is cut inside.
    """
    if width(text) <= columns:
        return text
    kept: list[str] = []
    used = 1
    for char in text:
        used += _columns(char)
        if used > columns:
            break
        kept.append(char)
    short = "".join(kept)
    words, blank, _ = short.rpartition(" ")
    if blank and text[len(short)] != " " and width(words) * 3 >= columns * 2:
        short = words
    return short.rstrip() + "…"


def wrap(text: str, columns: int, first: str = "", rest: str | None = None) -> list[str]:
    """Return `text` as lines of at most `columns` display columns.

    The first line begins with `first` and the others with `rest` (spaces as wide as `first` when not given).
    Lines break at spaces only, and not inside backticked code that fits on a line. A Latin word, path or flag that
    is longer than a line stays whole; a run of Hangul that is longer is broken between syllables.
    """
    rest = " " * width(first) if rest is None else rest
    lines: list[str] = []
    line, used = first, width(first)
    empty = True
    for unit in _units(text, columns - max(width(first), width(rest))):
        gap = 0 if empty else 1
        if not empty and used + gap + width(unit) > columns:
            lines.append(line)
            line, used, gap = rest, width(rest), 0
        line += " " * gap + unit
        used += gap + width(unit)
        empty = False
    lines.append(line.rstrip() if empty else line)
    return lines


def fold(text: str, columns: int, lines: int) -> list[str]:
    """Return verbatim text in at most `lines` lines of `columns` display columns, all its spaces kept.

    Lines end behind spaces only: a path or a symbol that is longer than a line stays whole. What is left after the
    last line is cut off with an ellipsis.
    """
    pieces = [""]
    for word in re.findall(r"\s*\S+\s*", text):
        if pieces[-1].strip() and width(pieces[-1]) + width(word.rstrip()) > columns:
            pieces.append("")
        pieces[-1] += word
    if len(pieces) > lines:
        rest = "".join(pieces[lines - 1 :])
        pieces[lines - 1 :] = [cut(rest, max(columns, width(pieces[lines - 1])))]
    return pieces


def _units(text: str, room: int) -> Iterable[str]:
    """Yield the pieces of `text` that stay on one line."""
    for unit in re.findall(_UNIT, text) if "`" in text else text.split():
        if width(unit) <= room:
            yield unit
        elif " " in unit:
            yield from unit.split()
        elif any(_columns(char) == 2 for char in unit):
            yield from _syllables(unit, room)
        else:
            yield unit


def _syllables(unit: str, room: int) -> Iterable[str]:
    """Break a long word beside wide characters only, so that Latin words inside it stay whole."""
    piece, used, opening = "", 0, 0
    for char in unit:
        if piece and 2 in (_columns(char), _columns(piece[-1])):
            opening = len(piece)
        if opening and used + _columns(char) > room:
            yield piece[:opening]
            piece, opening = piece[opening:], 0
            used = width(piece)
        piece += char
        used += _columns(char)
    yield piece
