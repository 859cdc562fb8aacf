"""Keeps lines as what they say apart from their digits, and their digits: alike lines are stored and read once.

The ranks of a run print a few kinds of lines again and again, with other numbers. What a line is can nearly always be
told without knowing which digits stand in it, so it is told once for all lines of a shape.
"""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Told = TypeVar("Told")

_ALIKE = bytes.maketrans(b"123456789", b"000000000")
_OTHERS = bytes(sorted({*range(256)} - {*b"0123456789"}))


class ShapePart(NamedTuple):
    """A part of a shape, ready to get the digits of a line."""

    first: int
    """Digits of the line before it."""
    words: tuple[str, ...]
    """What stands before, between and behind its digits."""
    runs: tuple[int, ...]
    """How many digits stand between them."""

    def fill(self, digits: str, start: int = 0) -> str:
        """Return it as it stands in the line whose digits begin there."""
        at, words, runs = self
        at += start
        if len(runs) == 1:  # a whole number
            return words[0] + digits[at : at + runs[0]] + words[1]
        if len(runs) == 2:  # one with a fraction
            middle = at + runs[0]
            return words[0] + digits[at:middle] + words[1] + digits[middle : middle + runs[1]] + words[2]
        found = [words[0]]
        for index, run in enumerate(runs, 1):
            found.append(digits[at : at + run])
            found.append(words[index])
            at += run
        return "".join(found)


def piece(text: str, start: int = 0, stop: int | None = None) -> ShapePart:
    """Take a part of the text of a shape."""
    part = text[start:stop]
    words: list[str] = []
    runs: list[int] = []
    at = 0
    while (low := part.find("0", at)) >= 0:
        high = low + 1
        while part[high : high + 1] == "0":
            high += 1
        words.append(part[at:low])
        runs.append(high - low)
        at = high
    return ShapePart(text.count("0", 0, start), (*words, part[at:]), tuple(runs))


class Shape:
    """What lines say that differ in nothing but their digits, each of which is a 0 here."""

    __slots__ = ("_known", "_told", "text", "width")

    def __init__(self, text: str, known: Shapes) -> None:
        """Take the text; `known` are all shapes that there are."""
        self.text = text
        self.width = text.count("0")
        self._known = known
        self._told: dict[Any, Any] = {}

    def once(self, tell: Callable[[str], Told]) -> Told:
        """Return what a function says of this text; it must not matter to it which digits a text has."""
        try:
            found: Told = self._told[tell]
        except KeyError:
            found = self._told[tell] = tell(self.text)
        return found

    def fill(self, digits: str) -> str:
        """Return the line that has these digits."""
        return self.once(piece).fill(digits) if self.width else self.text

    def behind(self, start: int) -> Shape:
        """Return the shape of what stands behind an offset."""
        if not start:
            return self
        try:
            found: Shape = self._told[start]
        except KeyError:
            found = self._told[start] = self._known[self.text[start:]]
        return found


class Shapes(dict[str, Shape]):
    """All shapes that there are, by their text."""

    def __missing__(self, text: str) -> Shape:
        """Make the shape that is met for the first time."""
        found = self[text] = Shape(text, self)
        return found

    def of(self, text: str) -> tuple[Shape, str]:
        """Return the shape of a line, and its digits."""
        data = text.encode("utf-8", "replace")
        return self[data.translate(_ALIKE).decode("utf-8")], data.translate(None, _OTHERS).decode("ascii")


class ShapedText:
    """A text that is kept by its shape."""

    __slots__ = ("_digits", "_shape")

    def __init__(self, text: str, known: Shapes) -> None:
        """Take the text; `known` are all shapes that there are."""
        self._shape, self._digits = known.of(text)

    def __str__(self) -> str:
        """Return the text."""
        return self._shape.fill(self._digits)

    def __eq__(self, other: object) -> bool:
        """Whether both are the same text."""
        return isinstance(other, ShapedText) and str(self) == str(other)

    def __hash__(self) -> int:
        """Return the same number for the same text."""
        return hash(str(self))


class Kept:
    """The lines of some text: their shapes, and all of their digits in one row."""

    __slots__ = ("_digits", "_starts", "known", "redrawn", "shapes")

    def __init__(self, data: bytes, known: Shapes) -> None:
        """Take UTF-8, of which what is broken is replaced; line feeds end the lines."""
        self.known = known
        self.shapes = [known[text] for text in data.translate(_ALIKE).decode("utf-8", "replace").split("\n")]
        digits = data.translate(None, _OTHERS)
        self._digits = bytes.fromhex((digits + b"0"[: len(digits) % 2]).decode("ascii"))  # two digits in a byte
        self.redrawn = b"\r" in data
        self._starts: array[int] | None = None

    @classmethod
    def of(cls, texts: Iterable[str], known: Shapes) -> Kept:
        """Keep lines, of which none contains a line feed."""
        return cls("\n".join(texts).encode("utf-8", "replace"), known)

    def __len__(self) -> int:
        """Count the lines; a line feed at the end of the text begins one more."""
        return len(self.shapes)

    @property
    def starts(self) -> array[int]:
        """Where the digits of each line begin in the row of all digits."""
        if self._starts is None:
            self._starts = array("I", accumulate((shape.width for shape in self.shapes), initial=0))
        return self._starts

    def digits_of(self, index: int, last: int | None = None) -> str:
        """Return the digits of one line, or of all lines up to a last one, in one row."""
        start, stop = self.starts[index], self.starts[(index if last is None else last) + 1]
        return self._digits[start // 2 : (stop + 1) // 2].hex()[start % 2 : start % 2 + stop - start]

    def line(self, index: int) -> str:
        """Return one line."""
        return self.shapes[index].fill(self.digits_of(index))

    def text(self) -> str:
        """Return all of it."""
        return "\n".join(map(self.line, range(len(self))))
