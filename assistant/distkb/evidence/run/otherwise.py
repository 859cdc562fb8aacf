"""Lines that several ranks say alike but for one thing: the order of names, a path, or a word."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from distkb.evidence.run.sayings import NAMED, NO_QUOTES, WORD, bare, heard_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distkb.evidence.run.lines import Line
    from distkb.evidence.run.processes import Process
    from distkb.evidence.run.sayings import Saying, Talk

MOST_RANKS = 64
"""Ranks whose words are compared; of more, an even choice."""
LAST_LINES = 5
"""Last lines of a rank in which two numbers are compared."""
WORDS = range(3, 17)
"""Words of a line of which one is compared."""


_LIST = re.compile(r"(\w[\w -]{0,40})[:=] ?[\[({]?((?:\w[\w.-]{0,60}, ){1,60}\w[\w.-]{0,60})")
"""What names are listed, and the list of them."""


def other_orders(spoken: Sequence[Talk]) -> tuple[tuple[Process, Line], ...]:
    """Return two ranks' lines that list at least two of the same names, which come in another order in one of them."""
    if len(spoken) < 2:
        return ()
    heard = heard_by(spoken)
    seen: dict[str, list[tuple[Process, Line, tuple[str, ...]]]] = {}
    for talk in spoken:
        own = [index for index, template in enumerate(talk.said) if heard[template] == 1 and ", " in template]
        for index in own[:NAMED]:
            line = talk.lines[index]
            for what, listed in _LIST.findall(bare(line)):
                names = tuple(dict.fromkeys(listed.split(", ")))
                before = seen.setdefault(what.lower(), [])
                for process, other, theirs in before[:NAMED]:
                    if process is not talk.process and _in_other_order(names, theirs):
                        return (process, other), (talk.process, line)
                before.append((talk.process, line, names))
    return ()


def _in_other_order(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether the names that two lists have in common stand in another order."""
    mine = [name for name in one if name in other and WORD.search(name)]
    return len(mine) > 1 and mine != [name for name in other if name in mine]


def on_both_sides(spoken: Sequence[Talk], pattern: str) -> tuple[tuple[Process, Line], ...]:
    """Return the last lines of two ranks of one moment in which a number is below another on one rank and not on both.

    `pattern` finds the two as its groups `value` and `bound`; the moment is what stands before them, without the rank.
    """
    said: dict[str, tuple[bool, Process, Line]] = {}
    sought = _compiled(pattern)
    for talk in spoken[:: max(1, len(spoken) // MOST_RANKS)]:
        for line in reversed(talk.lines[-LAST_LINES:]):
            text = bare(line)
            found = sought.search(text)
            if found is None:
                continue
            moment, below = text[: found.start()], float(found["value"]) < float(found["bound"])
            before = said.setdefault(moment, (below, talk.process, line))
            if before[0] != below:
                return (before[1], before[2]), (talk.process, line)
            break
    return ()


_compiled = cache(re.compile)


def other_names(spoken: Sequence[Talk]) -> tuple[tuple[Process, Line], ...]:
    """Return two ranks' lines with the same numbers in the same order under the same names in another order."""
    if len(spoken) < 2:
        return ()
    heard = heard_by(spoken)
    seen: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[Process, Saying]] = {}
    for talk in spoken:
        own = [index for index, template in enumerate(talk.said) if heard[template] == 1 and template.count("#") > 1]
        for index in own[:NAMED]:
            one = talk.saying(index)
            names = WORD.findall(one.template)
            if len(set(names)) < 3 or len(set(one.numbers)) < 2:
                continue
            first, other = seen.setdefault((tuple(sorted(names)), one.numbers), (talk.process, one))
            if first is not talk.process and other.template != one.template:
                return (first, other.line), (talk.process, one.line)
    return ()


def other_places(spoken: Sequence[Talk]) -> tuple[tuple[Process, Line], ...]:
    """Return two ranks' lines that are the same but for the path in them, of which nothing is the rank's number."""
    heard = heard_by(spoken)
    seen: dict[tuple[str, ...], tuple[Process, Line, str]] = {}
    for talk in spoken if len(spoken) > 1 else ():
        own = [index for index, template in enumerate(talk.said) if heard[template] == 1 and "/" in template]
        for index in own[:NAMED]:
            words = talk.said[index].split()
            paths = [word for word in words if "/" in word]
            if len(paths) != 1 or len(words) < 3:
                continue
            rest = tuple("/" if word is paths[0] else word for word in words)
            process, line, path = seen.setdefault(rest, (talk.process, talk.lines[index], paths[0]))
            if process is not talk.process and _differ_in_one_part(path, paths[0]):
                return (process, line), (talk.process, talk.lines[index])
    return ()


def _differ_in_one_part(one: str, other: str) -> bool:
    """Whether two paths have as many parts, of which exactly one is another name."""
    mine, theirs = one.split("/"), other.split("/")
    return len(mine) == len(theirs) and sum(a != b for a, b in zip(mine, theirs, strict=True)) == 1


class OtherWord(NamedTuple):
    """The line that one rank said once, and the word of it that others have otherwise."""

    process: Process
    line: Line
    word: str


def other_words(spoken: Sequence[Talk]) -> tuple[tuple[OtherWord, ...], ...]:
    """Return the lines that each rank said once and that are the same but for one word, neither number nor path."""
    spoken = spoken[:: max(1, len(spoken) // MOST_RANKS)]
    heard = heard_by(spoken)
    said: dict[tuple[str, ...], list[OtherWord]] = {}
    for talk in spoken if len(spoken) > 1 else ():
        times = Counter(talk.said)
        own = [at for at, one in enumerate(talk.said) if heard[one] < len(spoken) and times[one] == 1]
        for index in own[:NAMED]:
            words = talk.said[index].split()
            spelled = bare(talk.lines[index]).translate(NO_QUOTES).split() if len(words) in WORDS else []
            for at, word in enumerate(spelled if len(spelled) == len(words) else ()):
                if WORD.search(word) and "/" not in word:
                    rest = (*words[:at], "", *words[at + 1 :])
                    said.setdefault(rest, []).append(OtherWord(talk.process, talk.lines[index], word))
    return tuple(
        tuple({one.word.lower(): one for one in reversed(found)}.values())[::-1]
        for found in said.values()
        if len(found) == len(spoken) and len({one.word.lower() for one in found}) > 1
    )
