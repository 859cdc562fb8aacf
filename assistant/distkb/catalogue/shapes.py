"""How the shape of a value is written: `int>0`, `number>=0<=1`, `bool`, `text`, `list`, `block`, `int|text`, `any`.

`int` is a whole number, `number` any; both may have a lowest value behind `>=` or `>`, then a highest one behind `<=`.
`=word` is that very word, as it is typed; `null` is null where a block says that it is no value, and `flag` an option
of a command that takes no value. `list:text` is a list of texts, and so for the other plain kinds. Several
stand for either.
"""

from __future__ import annotations

import re
from typing import Final, Literal, cast

import msgspec

ShapeKind = Literal["any", "bool", "int", "number", "text", "list", "block", "word", "null", "flag"]
_AMOUNT: Final = r"\d{1,9}(?:\.\d{1,9})?"
_WRITTEN: Final = re.compile(
    rf"(?P<number>int|number)(?:(?P<above>>=?)(?P<lowest>{_AMOUNT}))?(?:<=(?P<highest>{_AMOUNT}))?"
    r"|list:(?P<inner>bool|int|number|text|block)|=(?P<word>[^|=]+)|(?P<plain>any|bool|text|list|block|null|flag)"
)


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of value."""

    kind: ShapeKind
    lowest: float | None = None
    exclusive: bool = False
    """Whether the lowest value itself is too low."""
    highest: float | None = None
    word: str = ""
    """The word that it must be, for `word`."""
    inner: ShapeKind = "any"
    """What each item of a list must be."""


def parse(text: str) -> tuple[Shape, ...]:
    """Return the shapes of which a value must have one; empty where the text is none."""
    found = [match for word in text.split("|") if (match := _WRITTEN.fullmatch(word))]
    return tuple(map(_shape, found)) if len(found) > text.count("|") else ()


def _shape(match: re.Match[str]) -> Shape:
    if match["word"]:
        return Shape(kind="word", word=match["word"])
    if match["inner"]:
        return Shape(kind="list", inner=cast("ShapeKind", match["inner"]))
    return Shape(
        kind=cast("ShapeKind", match["number"] or match["plain"]),
        lowest=float(match["lowest"]) if match["lowest"] else None,
        exclusive=match["above"] == ">",
        highest=float(match["highest"]) if match["highest"] else None,
    )
