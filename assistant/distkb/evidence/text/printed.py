"""The words of what a run printed: each kind of line once, without what libraries and launchers print of themselves.

What a program says of its own work tells what kind of work failed, also where no message of it is known: these words
are compared with the texts of the catalogue. The browser picks them with the same patterns.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

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
LEAST = 4
"""Characters of a line that says anything."""


def printed_words(lines: Iterable[str]) -> str:
    """Return the kinds of lines of some output as sentences: what the program says, its errors, its own code."""
    kinds: dict[str, None] = {}
    own: bool | None = None
    for line in lines:
        text, quoted = line[:WIDTH], own
        frame = _FRAME.match(text)
        own = None if frame is None else not is_library(frame[1])
        if frame is not None:
            text = frame[2] or "" if own else ""
        elif quoted is False or (quoted is None and _OTHERS.search(text)):
            continue
        kind = " ".join(_MARKS.sub(" ", text).split())
        if len(kind) >= LEAST:
            kinds[kind] = None
    return sentences(kinds)


def is_frame(line: str) -> bool:
    """Whether a line of a traceback says where."""
    return _FRAME.match(line[:WIDTH]) is not None


def written_words(lines: Iterable[str]) -> str:
    """Return the lines of scripts as sentences."""
    return sentences(
        {kind: None for line in lines if len(kind := " ".join(_MARKS.sub(" ", line[:WIDTH]).split())) >= LEAST}
    )


def sentences(kinds: Iterable[str]) -> str:
    """Return the first and the last of some lines as sentences, as many as are compared."""
    known = list(kinds)
    if len(known) > LINES:
        known = [*known[: LINES // 2], *known[-LINES // 2 :]]
    text = ". ".join(known)
    return text if len(text) <= CHARACTERS else f"{text[: CHARACTERS // 2]} {text[-CHARACTERS // 2 :]}"
