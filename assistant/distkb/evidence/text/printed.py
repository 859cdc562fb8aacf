"""The words of what a run printed: each kind of line once, without what libraries and launchers print of themselves.

What a program says of its own work tells what kind of work failed, also where no message of it is known: these words
are compared with the texts of the catalogue. The browser picks them with the same patterns.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from distkb.evidence.text.traceback import is_library

if TYPE_CHECKING:
    from collections.abc import Iterable

LINES = 400
"""Kinds of lines that are compared: the first half of them from the beginning, the rest from the end."""
CHARACTERS = 8_000
"""Characters of them, likewise."""
WIDTH = 300
"""Characters of one line."""
FRAME = r'^.{0,40}?\bFile "([^"]{1,400})", line \d{1,9}(?:, in (\S{1,100}))?'
"""A line of a traceback that says where; the next one quotes the code."""
MARKS = r"[\d.:,\[\]|/#%=^~-]+"
"""Numbers and what stands around them: the same line is printed again with others."""
OTHERS = (
    r"site-packages|Traceback \(most|torch/distributed|torchrun|elastic|OMP_NUM_THREADS|\*{8}|ProcessGroup"
    r"|\[W\d|^[WEI]\d{4} "
)
"""Lines that a library or a launcher prints of itself."""
_FRAME, _MARKS, _OTHERS = re.compile(FRAME), re.compile(MARKS), re.compile(OTHERS)
Place = TypeVar("Place")
LEAST = 4
"""Characters of a line that says anything."""


def printed_kinds(lines: Iterable[tuple[str, Place]]) -> dict[str, Place]:
    """Return the kinds of lines of some output, each with the place of its first line.

    They are what the program says, its errors, and its own code.
    """
    kinds: dict[str, Place] = {}
    own: bool | None = None
    for line, place in lines:
        text, quoted = line[:WIDTH], own
        frame = _FRAME.match(text)
        own = None if frame is None else not is_library(frame[1])
        if frame is not None:
            text = frame[2] or "" if own else ""
        elif quoted is False or (quoted is None and _OTHERS.search(text)):
            continue
        _keep(kinds, text, place)
    return _bounded(kinds)


def is_frame(line: str) -> bool:
    """Whether a line of a traceback says where."""
    return _FRAME.match(line[:WIDTH]) is not None


def written_kinds(lines: Iterable[tuple[str, Place]]) -> dict[str, Place]:
    """Return the same of the lines of scripts, all of which count."""
    kinds: dict[str, Place] = {}
    for line, place in lines:
        _keep(kinds, line[:WIDTH], place)
    return _bounded(kinds)


def _keep(kinds: dict[str, Place], text: str, place: Place) -> None:
    kind = " ".join(_MARKS.sub(" ", text).split())
    if len(kind) >= LEAST:
        kinds.setdefault(kind, place)


def _bounded(kinds: dict[str, Place]) -> dict[str, Place]:
    """Return the first and the last of the kinds, as many as are compared."""
    if len(kinds) <= LINES:
        return kinds
    known = list(kinds.items())
    return dict([*known[: LINES // 2], *known[-LINES // 2 :]])


def sentences(kinds: Iterable[str]) -> str:
    """Return kinds of lines as sentences, of too many characters the first and the last."""
    text = ". ".join(kinds)
    return text if len(text) <= CHARACTERS else f"{text[: CHARACTERS // 2]} {text[-CHARACTERS // 2 :]}"
