"""What the ranks said of their own work, laid side by side: above all what only a few of them said."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.text.lines import lead

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from distkb.evidence.run.processes import Line, Process

_RANK = re.compile(
    r"(?i)^[\[(]\d{1,5}(?: ?/ ?\d{1,5})?[\])]|^r\d{1,4}\b|\bcuda:\d+"
    r"|\b(?:global_?|local_?)?(?:rank|worker|proc(?:ess)?|gpu|device)[ =:_#]*\d+(?: ?(?:/|of) ?\d+)?"
)
_NUMBER = re.compile(r"0x[0-9a-f]+|[-+]?(?:\d+\.\d+|\.\d+|\d+)(?:[eE][-+]?\d+)?")
_QUOTES = str.maketrans("", "", "\"'")
"""JSON and Python print the names of numbers in quotes."""
_WORD = re.compile(r"[A-Za-z_]\w*")
_LONGEST = 400


class Saying(msgspec.Struct, frozen=True):
    """One line without what differs from rank to rank and from step to step."""

    template: str
    numbers: tuple[str, ...]
    line: Line


class Talk(msgspec.Struct, frozen=True):
    """What one rank said, in order."""

    process: Process
    sayings: tuple[Saying, ...]
    templates: frozenset[str]


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
    return Saying(_NUMBER.sub("#", text).strip().translate(_QUOTES), tuple(_NUMBER.findall(text)), line)


def talks(processes: Iterable[Process], work: Mapping[str, Sequence[Line]]) -> tuple[Talk, ...]:
    """Return what each rank said of its own work, for the ranks that said anything."""
    found: list[Talk] = []
    for process in processes:
        said = tuple(s for line in work.get(process.key, ()) if (s := say(line)).template)
        if said:
            found.append(Talk(process, said, frozenset(s.template for s in said)))
    return tuple(found)


def alone(spoken: Sequence[Talk]) -> tuple[Alone, ...]:
    """Return the lines that a minority printed, of ranks that otherwise talk alike: last words first.

    By convention rank 0 may print more than the others: of a rank that has done so before, only what it said after
    all that the others say too.
    """
    heard: dict[str, int] = {}
    for talk in spoken:
        for template in talk.templates:
            heard[template] = heard.get(template, 0) + 1
    alike = [talk for talk in spoken if any(heard[template] > 1 for template in talk.templates)]
    if len(alike) < 2:
        return ()
    most = _most(alike)
    found: list[Alone] = []
    for talk in alike:
        common = [i for i, s in enumerate(talk.sayings) if heard[s.template] > 1]
        few = [i for i, s in enumerate(talk.sayings) if heard[s.template] <= len(alike) // 2]
        end = common[-1]
        spokesman = sum(i < end for i in few) > 2
        seen: set[str] = set()
        for index in few:
            saying = talk.sayings[index]
            news = index > end and saying.template not in seen
            if saying.template not in seen and (news or not spokesman):
                found.append(Alone(talk.process, saying, news))
            seen.add(saying.template)
        end_of = talk.sayings[-1]
        own = sum(s.template == end_of.template for s in talk.sayings)
        if end_of.template not in seen and own > 1 and most[end_of.template] == (own, 1):
            found.append(Alone(talk.process, end_of, last=True, again=True))
    return tuple(sorted(found, key=lambda one: not one.last))


def unequal(spoken: Sequence[Talk]) -> tuple[tuple[Process, Saying], ...]:
    """Return the last of each of the lines that several ranks printed, but not all of them as often as others."""
    counts = [Counter(s.template for s in talk.sayings) for talk in spoken]
    often = {t: {own[t] for own in counts} for t in frozenset().union(*counts)} if len(spoken) > 1 else {}
    found: list[tuple[Process, Saying]] = []
    for template, times in often.items():
        if len(times) > 1:
            top = max(range(len(spoken)), key=lambda index: counts[index][template])
            last = next(s for s in reversed(spoken[top].sayings) if s.template == template)
            found.append((spoken[top].process, last))
    return tuple(found)


def _most(spoken: Sequence[Talk]) -> dict[str, tuple[int, int]]:
    """Return for each line how often the rank said it that said it most, and how many ranks said it as often."""
    most: dict[str, tuple[int, int]] = {}
    for talk in spoken:
        for template, times in Counter(s.template for s in talk.sayings).items():
            top, ranks = most.get(template, (0, 0))
            most[template] = (times, 1) if times > top else (top, ranks + (times == top))
    return most


def last_differ(spoken: Sequence[Talk]) -> tuple[tuple[Process, Line], ...]:
    """Return the ranks' last lines where these begin alike and go on to name different things, each thing once."""
    last = [(talk.process, talk.sayings[-1]) for talk in spoken]
    words = [_WORD.findall(saying.line.text[:_LONGEST]) for _, saying in last]
    heads = {_WORD.findall(saying.template)[0].lower() for _, saying in last if _WORD.search(saying.template)}
    if len(last) < 2 or len(heads) != 1 or len({saying.template for _, saying in last}) < 2 or not all(words):
        return ()
    first: dict[str, tuple[Process, Line]] = {}
    for process, saying in last:
        first.setdefault(saying.template, (process, saying.line))
    return tuple(first.values())
