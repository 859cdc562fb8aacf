"""The lines of a process, each of which is made when it is looked at: most are only told by their shape."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, overload

import msgspec

from distkb.evidence.text.lines import SCAN, Stamp, find_stamp, layout, may_be_stamped
from distkb.evidence.text.shapes import Kept, Shape, Shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator


class Line(msgspec.Struct, frozen=True):
    """One line of a process's end."""

    text: str
    """Without the launcher's tags."""
    path: str
    number: int
    stamp: Stamp | None


class FileExcerpt(NamedTuple):
    """Some of the lines that were kept of a file."""

    path: str
    kept: Kept
    numbers: Sequence[int]
    """Of all lines that were kept."""
    at: Sequence[int]
    """Which of them."""
    ready: Sequence[Line] = ()
    """All of them, where they were not kept but given."""

    def some(self, at: Sequence[int]) -> FileExcerpt:
        """Return others of these lines."""
        return FileExcerpt(self.path, self.kept, self.numbers, at, self.ready)

    def line(self, index: int) -> Line:
        """Make one line."""
        if self.ready:
            return self.ready[index]
        shape = self.kept.shapes[index]
        text, body = self.kept.line(index), shape.once(body_of)
        stamp = find_stamp(text[body:SCAN]) if shape.once(_stamped) else None
        return Line(text[body:], self.path, self.numbers[index], stamp)

    def place(self, index: int) -> tuple[str, int]:
        """Return the file and the number of a line."""
        if self.ready:
            return self.ready[index].path, self.ready[index].number
        return self.path, self.numbers[index]

    def tags(self, index: int) -> int:
        """Count the digits of a line that come before what it says."""
        return 0 if self.ready else self.kept.shapes[index].once(_digits_of_tags)

    def digits(self, index: int) -> str:
        """Return the digits of what a line says."""
        return self.kept.digits_of(index)[self.tags(index) :]

    def shape(self, index: int) -> Shape:
        """Return the shape of what a line says."""
        shape = self.kept.shapes[index]
        return shape if self.ready else shape.behind(shape.once(body_of))

    def shapes(self) -> list[Shape]:
        """Return the shape of what each of these lines says."""
        kept = self.kept.shapes
        found = [kept[index] for index in self.at]
        if self.ready:
            return found
        said = {shape: shape.behind(shape.once(body_of)) for shape in set(found)}
        return [said[shape] for shape in found]

    def where(self, wanted: Callable[[str], bool]) -> FileExcerpt:
        """Return the lines of which this is true; it must not matter to it which digits a text has."""
        shapes = self.kept.shapes
        every = set(map(shapes.__getitem__, self.at))
        said = {shape: shape if self.ready else shape.behind(shape.once(body_of)) for shape in every}
        good = {shape for shape in every if said[shape].once(wanted)}
        if len(good) == len(every):
            return self
        return self.some(array("I", [index for index in self.at if shapes[index] in good] if good else ()))


def body_of(text: str) -> int:
    """Where a line goes on behind the launcher's tags."""
    return layout(text).body


def _digits_of_tags(text: str) -> int:
    return text.count("0", 0, body_of(text))


def _stamped(text: str) -> bool:
    return may_be_stamped(text[body_of(text) : SCAN])


def _may_be_stamped(text: str) -> bool:
    return may_be_stamped(text[:SCAN])


class Lines(Sequence[Line]):
    """Lines in order, of one file or several."""

    __slots__ = ("parts", "templates")

    def __init__(self, parts: Iterable[FileExcerpt] = ()) -> None:
        """Take parts one after the other."""
        self.parts = [part for part in parts if part.at]
        self.templates: Sequence[str] | None = None
        """What they say without their numbers, once somebody asked for it."""

    @classmethod
    def given(cls, lines: Sequence[Line]) -> Lines:
        """Return lines as this kind of sequence."""
        if isinstance(lines, Lines) or not lines:
            return lines if isinstance(lines, Lines) else cls()
        kept = Kept.of((line.text.replace("\n", "\v") for line in lines), Shapes())
        return cls([FileExcerpt("", kept, (), range(len(lines)), lines)])

    def __len__(self) -> int:
        """Count them."""
        return sum(len(part.at) for part in self.parts)

    def __iter__(self) -> Iterator[Line]:
        """Make one after the other."""
        for part in self.parts:
            yield from map(part.line, part.at)

    def __add__(self, other: Lines) -> Lines:
        """Return these lines and others behind them."""
        return Lines([*self.parts, *other.parts])

    @overload
    def __getitem__(self, index: int) -> Line: ...
    @overload
    def __getitem__(self, index: slice) -> Lines: ...
    def __getitem__(self, index: int | slice) -> Line | Lines:
        """Make one line, or take some that stand side by side."""
        if isinstance(index, slice):
            return self._side_by_side(*index.indices(len(self)))
        part, at = self.place(index)
        return part.line(at)

    def _side_by_side(self, start: int, stop: int, step: int) -> Lines:
        if step != 1:
            raise ValueError(step)
        found: list[FileExcerpt] = []
        for part in self.parts:
            size = len(part.at)
            found.append(part.some(part.at[max(0, start) : max(0, stop)]))
            start, stop = start - size, stop - size
        return Lines(found)

    def paths(self) -> tuple[str, ...]:
        """Return the files that they come from, in order."""
        found: dict[str, None] = {}
        for part in self.parts:
            found.update(dict.fromkeys(part.place(index)[0] for index in (part.at if part.ready else part.at[:1])))
        return tuple(found)

    def place(self, index: int) -> tuple[FileExcerpt, int]:
        """Return where a line is kept."""
        index += len(self) if index < 0 else 0
        for part in self.parts:
            if 0 <= index < len(part.at):
                return part, part.at[index]
            index -= len(part.at)
        raise IndexError(index)

    def shapes(self) -> Iterator[Shape]:
        """Return the shape of what each of them says."""
        for part in self.parts:
            yield from part.shapes()

    def pick(self, wanted: Collection[int]) -> Lines:
        """Return the lines in some places of these."""
        found: list[FileExcerpt] = []
        base, chosen = 0, frozenset(wanted)
        for part in self.parts:
            at = array("I", (index for place, index in enumerate(part.at, base) if place in chosen))
            found.append(part.some(at))
            base += len(part.at)
        return Lines(found)

    def stamped(self) -> Lines:
        """Return the lines that may show a time."""
        return self.where(_may_be_stamped, lambda part: bool(part.ready))

    def outside(self, paths: Collection[str]) -> Lines:
        """Return the lines that stand in none of some files."""
        if not paths:
            return self
        return Lines(
            part.some(array("I", (index for index in part.at if part.place(index)[0] not in paths)))
            for part in self.parts
        )

    def where(self, wanted: Callable[[str], bool], always: Callable[[FileExcerpt], bool] | None = None) -> Lines:
        """Return the lines of which this is true; it must not matter to it which digits a text has.

        Parts for which `always` is true stay whole.
        """
        return Lines(part if always is not None and always(part) else part.where(wanted) for part in self.parts)
