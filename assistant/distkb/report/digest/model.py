"""What a digest is: sections of lines with their places, and what was left out of each."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from distkb.locale import Language

Name = Literal[
    "run", "causes", "roll-call", "failures", "places", "code", "alone", "numbers", "endings", "findings", "lines",
    "course", "next", "scripts", "rank", "around",
]  # fmt: skip
"""The sections; each but the last two is a handle of `--more`."""
HANDLES: tuple[Name, ...] = tuple(name for name in get_args(Name) if name not in {"rank", "around"})


class DigestLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a digest."""

    text: str
    """A sentence about the run, or a line of it: secrets masked, no control characters."""
    path: str | None = None
    """Where it stands, as the user named it."""
    line: int | None = None
    place: str = ""
    """The same, as short as it can be written: the end of the path by which the file is told from the others."""
    ranks: str = ""
    """Whose line it is: `0-2, 5`; empty where nobody knows, or where it is said of the whole run."""
    quoted: bool = False
    """Whether the text is a line of the run, and not a sentence about it."""
    within: bool = False
    """Whether it belongs to the item before it: the next line of a traceback, or what shows a sentence."""
    order: int = 0
    """Where it is shown; items come in the order in which they matter."""


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of one question."""

    name: Name
    items: tuple[DigestLine, ...]
    left_out: int = 0
    """Lines that the budget had no room for; `--more NAME` shows them."""


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides, as far as the budget goes."""

    lang: Language
    budget: int
    """Tokens that it may cost at most."""
    verdict: str = ""
    """As in a diagnosis; empty where only the lines around a place were asked for."""
    part: str = ""
    """The section, the rank or the place that was asked for; empty for all of it."""
    base: str
    """Folder that all places are in; empty where there is none."""
    sections: tuple[Section, ...]
