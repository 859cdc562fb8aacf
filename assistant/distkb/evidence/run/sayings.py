"""What the ranks said of their own work, laid side by side: above all what only a few of them said."""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.run.lines import Line, Lines
from distkb.evidence.text.lines import LABELLED, lead
from distkb.evidence.text.shapes import Shape, ShapePart, piece

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from distkb.evidence.run.processes import Process

_RANK = re.compile(
    r"(?i)^[\[(<{]\d{1,5}(?: ?/ ?\d{1,5})?[\])>}]|^(?-i:[rpw])\d{1,4}\b|^[a-z][a-z_.-]{1,24}\[\d{1,3}\]|\bcuda:\d+"
    r"|\b(?:global_?|local_?)?(?:rank|worker|proc(?:ess)?|gpu|device)['\"]?[ =:_#]*\d+(?: ?(?:/|of) ?\d+)?|^" + LABELLED
)
_NUMBER = re.compile(r"0x[0-9a-f]+|[-+]?(?:\d+\.\d+|\.\d+|\d+)(?:[eE][-+]?\d+)?")
NO_QUOTES = str.maketrans("", "", "\"'")
"""JSON and Python print the names of numbers in quotes."""
_ORDINARY = re.compile(r"[-+]?0{0,50}(?:\.0{1,50})?(?:[eE][-+]?00?)?")
WORD = re.compile(r"[A-Za-z_]\w*")
_LONGEST = 400
NAMED = 64
"""Lines of one rank whose names are compared with those of the others."""
REGULAR = 3
"""A line that one voice printed so often belongs to its rhythm."""


class Saying(msgspec.Struct, frozen=True):
    """One line without what differs from rank to rank and from step to step."""

    template: str
    numbers: tuple[str, ...]
    line: Line


class Talk(msgspec.Struct, frozen=True):
    """What one rank said, in order."""

    process: Process
    lines: Lines
    said: Sequence[str]
    """The template of each line."""
    templates: frozenset[str]
    shapes: tuple[Shape, ...]

    def saying(self, index: int) -> Saying:
        """Return one line, taken apart."""
        return say(self.lines[index])

    def is_finite(self, index: int, place: int) -> bool:
        """Whether a line has so many numbers, and this one is finite."""
        sure = self.shapes[index].once(_finite)
        return place < len(sure) and (sure[place] or _is_finite(self.number(index, place)))

    def finite(self, indices: Sequence[int], place: int) -> Sequence[int]:
        """Return those of some lines that have so many numbers, of which this one is finite."""
        shapes = [self.shapes[index] for index in indices]
        if all(place < len(sure) and sure[place] for sure in (shape.once(_finite) for shape in set(shapes))):
            return indices
        return array("I", (index for index in indices if self.is_finite(index, place)))

    def all_have(self, indices: Sequence[int], place: int) -> bool:
        """Whether all of some lines have so many numbers."""
        return all(place < len(shape.once(_finite)) for shape in {self.shapes[index] for index in indices})

    def numbers(self, indices: Sequence[int], place: int) -> list[str]:
        """Return one of the numbers of several lines, which are given in order."""
        found: list[str] = []
        base = 0
        for part in self.lines.parts:
            stop = base + len(part.at)
            within = indices[bisect_left(indices, base) : bisect_left(indices, stop)]
            if not within:
                base = stop
                continue
            pieces: dict[Shape, ShapePart | None] = {}
            kept, starts = part.kept.shapes, part.kept.starts
            first, last = part.at[within[0] - base], part.at[within[-1] - base]
            digits = part.kept.digits_of(first, last)
            for index in within:
                line = part.at[index - base]
                shape = kept[line]
                if shape not in pieces:
                    piece = _piece(self.shapes[index], place)
                    pieces[shape] = piece and piece._replace(first=piece.first + part.tags(line))
                number = pieces[shape]
                found.append(number.fill(digits, starts[line] - starts[first]) if number else self.number(index, place))
            base = stop
        return found

    def number(self, index: int, place: int) -> str:
        """Return one of the numbers of one line; empty where it has not as many."""
        part, at = self.lines.place(index)
        shape = part.shape(at)
        if shape.once(_is_hexadecimal):
            numbers = say(part.line(at)).numbers
            return numbers[place] if place < len(numbers) else ""
        pieces = shape.once(_numbers)
        return pieces[place].fill(part.digits(at)) if place < len(pieces) else ""


class Alone(msgspec.Struct, frozen=True):
    """A line that only some ranks printed."""

    process: Process
    saying: Saying
    last: bool
    """Whether it came after everything that this rank said like the others, and had not been said before."""
    again: bool = False
    """Whether the others have said it too, but not as often: they have not come as far."""


def bare(line: Line) -> str:
    """What a line says, without its time, its labels and the number of the rank."""
    text = line.text[:_LONGEST]
    return _RANK.sub("rank", text[lead(text) :])


def say(line: Line) -> Saying:
    """Take a line apart into what it says and its numbers."""
    text = bare(line)
    return Saying(_worded(text), tuple(_NUMBER.findall(text)), line)


def _template(text: str) -> str:
    text = text[:_LONGEST]
    return _worded(_RANK.sub("rank", text[lead(text) :]))


def _worded(text: str) -> str:
    """A line with `#` for its numbers, whatever blanks were put to make columns of them."""
    return " ".join(_NUMBER.sub("#", text).translate(NO_QUOTES).split())


def blanked(text: str) -> str:
    """The same line, as long as before, with blanks for its time and labels, and without the number of the rank."""
    text = text[:_LONGEST]
    start = lead(text)
    return " " * start + _RANK.sub(lambda label: "rank"[: len(label[0])].ljust(len(label[0])), text[start:])


def _numbers(text: str) -> tuple[ShapePart, ...]:
    """The numbers of lines of a shape."""
    return tuple(piece(text, *span) for span in _spans(text))


def _piece(shape: Shape, place: int) -> ShapePart | None:
    """One of the numbers of lines of a shape; None where its digits must be known to tell."""
    return None if shape.once(_is_hexadecimal) else shape.once(_numbers)[place]


def _spans(text: str) -> list[tuple[int, int]]:
    """Where the numbers stand in lines of a shape."""
    return [number.span() for number in _NUMBER.finditer(blanked(text))]


def _finite(text: str) -> tuple[bool, ...]:
    """For each number of lines of a shape, whether it is finite whatever its digits are."""
    if _is_hexadecimal(text):
        return (False,) * _LONGEST
    return tuple(_ORDINARY.fullmatch(text[slice(*span)]) is not None for span in _spans(text))


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _is_hexadecimal(text: str) -> bool:
    """Whether lines of this shape may hold numbers that begin with 0x, which only its digits can tell."""
    return "0x" in text[:_LONGEST]


def templates(lines: Lines) -> Sequence[str]:
    """Return what each line says, without its numbers."""
    if lines.templates is None:
        lines.templates = tuple(
            say(part.line(index)).template if shape.once(_is_hexadecimal) else shape.once(_template)
            for part in lines.parts
            for index, shape in zip(part.at, part.shapes(), strict=True)
        )
    return lines.templates


def talks(processes: Iterable[Process], work: Mapping[str, Sequence[Line]]) -> tuple[Talk, ...]:
    """Return what each rank said of its own work, for the ranks that said anything."""
    found: list[Talk] = []
    for process in processes:
        lines = Lines.given(work.get(process.key, ()))
        said = templates(lines)
        if "" in said:
            lines = lines.pick([index for index, template in enumerate(said) if template])
            said = tuple(template for template in said if template)
        if said:
            found.append(Talk(process, lines, said, frozenset(said), tuple(lines.shapes())))
    return tuple(found)


def alone(spoken: Sequence[Talk]) -> tuple[Alone, ...]:
    """Return the lines that a minority printed, of ranks that otherwise talk alike: last words first.

    By convention rank 0 may print more than the others: of a rank that has done so before, only what it said after
    all that the others say too.
    """
    heard = heard_by(spoken)
    alike = [talk for talk in spoken if any(heard[template] > 1 for template in talk.templates)]
    if len(alike) < 2:
        return ()
    most = most_often(alike)
    found: list[Alone] = []
    for talk in alike:
        end = max(i for i, template in enumerate(talk.said) if heard[template] > 1)
        few = [i for i, template in enumerate(talk.said) if heard[template] <= len(alike) // 2]
        spokesman = sum(i < end for i in few) > 2
        seen: set[str] = set()
        for index in few:
            template = talk.said[index]
            news = index > end and template not in seen
            if template not in seen and (news or not spokesman):
                found.append(Alone(talk.process, talk.saying(index), news))
            seen.add(template)
        end_of = talk.said[-1]
        own = talk.said.count(end_of)
        if end_of not in seen and own > 1 and most[end_of] == (own, 1):
            found.append(Alone(talk.process, talk.saying(-1), last=True, again=True))
    return tuple(sorted(found, key=lambda one: not one.last))


def heard_by(spoken: Sequence[Talk]) -> Counter[str]:
    """Return how many ranks said each line."""
    return Counter(template for talk in spoken for template in talk.templates)


def new_at_end(spoken: Sequence[Talk]) -> tuple[tuple[Process, Line], ...]:
    """Return the last line of who prints most, where nobody had printed one of its kind and it is no regular one.

    Regular is what the same voice printed several times before; the end of a rank that prints little tells nothing.
    """
    voice = max(spoken, key=lambda talk: len(talk.said), default=None)
    if voice is None or max(Counter(voice.said).values()) < REGULAR:
        return ()
    last = voice.said[-1]
    others = (talk for talk in spoken if talk is not voice)
    if voice.said.count(last) > 1 or any(last in talk.templates for talk in others):
        return ()
    return ((voice.process, voice.saying(-1).line),)


def decided_apart(spoken: Sequence[Talk]) -> tuple[tuple[Process, Line], ...]:
    """Return the last lines of ranks that say the same of the same moment, and of some more than of the others.

    What some say more has been said by the others of an earlier moment: it is a decision that they did not share.
    """
    ends = {(talk.said[-1], talk.number(len(talk.said) - 1, 0)): talk for talk in spoken}
    for (template, moment), talk in ends.items() if len(ends) > 1 else ():
        words = template.split()
        for shorter in (" ".join(words[:count]) for count in range(1, len(words))):
            other = ends.get((shorter, moment)) if moment else None
            if other is not None and template in other.templates:
                return (talk.process, talk.lines[-1]), (other.process, other.lines[-1])
    return ()


def unequal(spoken: Sequence[Talk]) -> tuple[tuple[Process, Saying], ...]:
    """Return the last of each of the lines that several ranks printed, but not all of them as often as others."""
    counts = [Counter(talk.said) for talk in spoken]
    every = dict.fromkeys(template for own in counts for template in own)
    often = {template: {own[template] for own in counts} for template in every} if len(spoken) > 1 else {}
    found: list[tuple[Process, Saying]] = []
    for template, times in often.items():
        if len(times) > 1:
            top = max(range(len(spoken)), key=lambda index: counts[index][template])
            talk = spoken[top]
            last = max(index for index, said in enumerate(talk.said) if said == template)
            found.append((talk.process, talk.saying(last)))
    return tuple(found)


_MEMBERS = re.compile(r"(?i)\b(?:group|members|ranks)\b[^\[(]{0,40}[\[(](\d{1,5}(?:, ?\d{1,5}){0,63})[\])]")


def by_members(spoken: Sequence[Talk]) -> tuple[tuple[Process, Line], ...]:
    """Return the lines that name the ranks of a group and were printed by these ranks and nobody else, not by all."""
    said: dict[str, dict[int, tuple[Process, Line]]] = {}
    for talk in spoken:
        if talk.process.rank is None:
            return ()
        for line in talk.lines.where(_names_members):
            said.setdefault(bare(line), {}).setdefault(talk.process.rank, (talk.process, line))
    for text, tellers in said.items():
        found = _MEMBERS.search(text)
        members = {int(number) for number in found[1].split(",")} if found is not None else set()
        if members == set(tellers) and len(members) < len(spoken):
            return tuple(tellers[rank] for rank in sorted(tellers))
    return ()


def _names_members(text: str) -> bool:
    return _MEMBERS.search(text[:_LONGEST]) is not None


def most_often(spoken: Sequence[Talk]) -> dict[str, tuple[int, int]]:
    """Return for each line how often the rank said it that said it most, and how many ranks said it as often."""
    most: dict[str, tuple[int, int]] = {}
    for talk in spoken:
        for template, times in Counter(talk.said).items():
            top, ranks = most.get(template, (0, 0))
            most[template] = (times, 1) if times > top else (top, ranks + (times == top))
    return most


def last_differ(spoken: Sequence[Talk]) -> tuple[tuple[Process, Line], ...]:
    """Return the ranks' last lines where these begin alike and go on to name different things, each thing once."""
    ends = [talk.said[-1] for talk in spoken]
    heads = {next((word.lower() for word in WORD.findall(template) if word != "rank"), "") for template in set(ends)}
    if len(ends) < 2 or len(heads) != 1 or len(set(ends)) < 2:
        return ()
    last = [(talk.process, talk.saying(-1)) for talk in spoken]
    if not all(WORD.search(saying.line.text[:_LONGEST]) for _, saying in last):
        return ()
    first: dict[str, tuple[Process, Line]] = {}
    for process, saying in last:
        first.setdefault(saying.template, (process, saying.line))
    return tuple(first.values())


def renamed(ends: Sequence[tuple[Process, Line]]) -> bool:
    """Whether lines are the same but for one word."""
    said = [say(line).template.split() for _, line in ends]
    if len({len(words) for words in said}) != 1:
        return False
    return sum(len(set(words)) > 1 for words in zip(*said, strict=True)) == 1
