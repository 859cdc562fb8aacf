"""How the shape of a value is written: `int>0`, `number>=0`, `bool`, `text`, `list`, `block`, `int|text`, `any`.

`int` is a whole number, `number` any; both may have a lowest value behind `>=` or `>`. Several stand for either.
"""

from __future__ import annotations

import re
from typing import Final, Literal, cast

import msgspec

ShapeKind = Literal["any", "bool", "int", "number", "text", "list", "block"]
_WRITTEN: Final = re.compile(r"(int|number)(?:(>=?)(\d{1,9}))?|(any|bool|text|list|block)")


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of value."""

    kind: ShapeKind
    lowest: int | None = None
    exclusive: bool = False
    """Whether the lowest value itself is too low."""


def parse(text: str) -> tuple[Shape, ...]:
    """Return the shapes of which a value must have one; empty where the text is none."""
    found = [match for word in text.split("|") if (match := _WRITTEN.fullmatch(word))]
    if len(found) <= text.count("|"):
        return ()
    return tuple(
        Shape(
            kind=cast("ShapeKind", match[1] or match[4]),
            lowest=int(match[3]) if match[3] else None,
            exclusive=match[2] == ">",
        )
        for match in found
    )
