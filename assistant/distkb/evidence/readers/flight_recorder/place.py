"""Which line of the user's program made a call: the innermost frame of their own code."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

_MAX_FRAMES = 200
_LIMIT = 1 << 62
_LIBRARY = re.compile(
    r"(?:^|[\\/])(?:site-packages|dist-packages|torch|accelerate|deepspeed|transformers|lightning|pytorch_lightning)"
    r"[\\/]|[\\/]lib[\\/]python\d|^<|\.(?:cpp|cc|c|h|hpp|cu)$"
)
_TORCH = re.compile(r"[\\/]torch[\\/]|^torch[\\/]|^<|\.(?:cpp|cc|c|h|hpp|cu)$")


class CallSite(NamedTuple):
    """The line of the user's program that made a call."""

    path: str
    line: int
    function: str


def user_place(frames: Any) -> CallSite | None:
    """Return the innermost frame of the user's own code; else the innermost outside torch; else the innermost."""
    if not isinstance(frames, (list, tuple)):
        return None
    places = [place for place in map(_place, frames[:_MAX_FRAMES]) if place is not None]
    outside_torch = [place for place in places if _TORCH.search(place.path) is None]
    own = (place for place in outside_torch if _LIBRARY.search(place.path) is None)
    return next(own, next(iter(outside_torch), next(iter(places), None)))


def _place(frame: Any) -> CallSite | None:
    if not isinstance(frame, dict) or not isinstance(frame.get("filename"), str):
        return None
    return CallSite(frame["filename"][:400], number_of(frame.get("line")), text_of(frame.get("name")))


def text_of(value: Any) -> str:
    """Return so much of a text as is shown; nothing of another type."""
    return value[:200] if isinstance(value, str) else ""


def number_of(value: Any) -> int:
    """Return a number, also one that is written as a text; 0 for another type."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        value = int(value)
    return value if type(value) is int and -_LIMIT < value < _LIMIT else 0
