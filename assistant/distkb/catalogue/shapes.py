"""How the shape of a value is written: `int>0`, `number>=0`, `bool`, `text`, `list`, `block`, `int|text`, `any`.

`int` is a whole number, `number` any; both may have a lowest value behind `>=` or `>`. Several stand for either.
"""

from __future__ import annotations

import re
from typing import Final, Literal, cast

import msgspec

Kind = Literal["any", "bool", "int", "number", "text", "list", "block"]
_WRITTEN: Final = re.compile(r"(any|bool|int|number|text|list|block)(?:(>=?)(\d{1,9}))?")


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of value."""

    kind: Kind
    lowest: int | None = None
    exclusive: bool = False
    """Whether the lowest value itself is too low."""


def parse(text: str) -> tuple[Shape, ...]:
    """Return the shapes of which a value must have one; empty where the text is none."""
    found = [_WRITTEN.fullmatch(word) for word in text.split("|")]
    if not all(found) or any(match and match[2] and match[1] not in {"int", "number"} for match in found):
        return ()
    return tuple(
        Shape(
            kind=cast("Kind", match[1]),
            lowest=int(match[3]) if match[3] else None,
            exclusive=match[2] == ">",
        )
        for match in found
        if match
    )
