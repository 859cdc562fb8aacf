"""Literal texts without which a regular expression cannot match: what finds lines that are worth a closer look."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

SHORTEST = 3
"""Characters of a literal that is of use."""
CHOICES = 32
"""Texts that a part of a pattern may stand for before it counts as unknown."""
CASES = 32
"""Cases that a pattern is told apart into."""
FEW, MANY = 4, 12
"""Characters that a class may have before it counts as unknown, and where nothing is left out for being much."""
WIDE = 1024
"""Texts that a part may stand for where nothing is left out for being much."""


class Need(NamedTuple):
    """What every match of a pattern contains: all of `every` where there are any, else a text or one of `some`."""

    texts: tuple[str, ...] = ()
    some: tuple[Need, ...] = ()
    every: tuple[Need, ...] = ()


class _Shape(NamedTuple):
    """What a part of a pattern says about the text that it matches."""

    exact: list[str] | None
    """All texts that it can match; None where there are too many."""
    best: list[str] | None
    """Literals of which every match contains at least one."""
    cases: list[tuple[str, ...]] | None = None
    """The same with all that is known: every match is of one case, and contains all literals of its case."""
    need: Need | None = None
    """The same, but that nothing is left out for being much."""

    def needs(self) -> Need | None:
        """Return what every match contains; None where nothing is known."""
        if self.exact is None:
            return self.need
        return Need(texts=tuple(self.exact)) if min(map(len, self.exact), default=0) else None


def required_literals(pattern: str) -> list[str] | None:
    """Literals of which every match contains at least one, each 3 characters or more; None where there are none.

    They are spelled as in the pattern, whose flags are not looked at. None contains a line break.
    """
    best = _parsed(pattern).best
    return best if best and min(map(len, best)) >= SHORTEST else None


def telling_literals(pattern: str) -> list[str] | None:
    """The same, and where there are none, shorter ones in which a syllable of Hangul counts as three characters."""
    return _parsed(pattern).best


def required_cases(pattern: str) -> list[tuple[str, ...]] | None:
    """Kinds of match, each with literals that all its matches contain; None where one has none.

    Every match is of at least one kind. Literals are spelled as those of `required_literals`.
    """
    return _parsed(pattern).cases


def needed(pattern: str) -> Need | None:
    """Return all that is known of the literals in each match, spelled as in the pattern; None where that is nothing."""
    return _parsed(pattern, WIDE).needs()


@cache
def _parsed(pattern: str, choices: int = CHOICES) -> _Shape:
    try:
        parser = importlib.import_module("re._parser")
    except ImportError:
        parser = importlib.import_module("sre_parse")
    return _sequence(parser.parse(pattern), choices)


def _sequence(items: Iterable[Any], choices: int) -> _Shape:
    """Texts side by side: neighbours that are known are put together, into no more than so many texts."""
    best: list[str] | None = None
    cases: list[tuple[str, ...]] | None = None
    every: list[Need | None] = []
    run = [""]
    whole = True
    for operator, argument in items:
        shape = _item(str(operator), argument, choices)
        if shape.exact is not None:
            joined = [left + right for left in run for right in shape.exact]
            if len(joined) <= choices:
                run = joined
                continue
            best, cases = _better(best, run), _both(cases, _single(run))
            every.append(_Shape(run, None).needs())
            run, whole = shape.exact, False
            continue
        best = _better(_better(best, run), shape.best)
        cases = _both(_both(cases, _single(run)), shape.cases)
        every += [_Shape(run, None).needs(), shape.need]
        run, whole = [""], False
    known = tuple(need for need in (*every, _Shape(run, None).needs()) if need is not None)
    need = None if not known else known[0] if len(known) == 1 else Need(every=known)
    return _Shape(run if whole else None, _better(best, run), _both(cases, _single(run)), need)


def _item(operator: str, argument: Any, choices: int) -> _Shape:  # noqa: PLR0911 - one line for each kind
    if operator == "LITERAL":
        return _Shape([chr(argument)] if chr(argument) not in "\r\n" else None, None)
    if operator == "AT":
        return _Shape([""], None)
    if operator == "IN":
        return _Shape(_members(argument, FEW if choices == CHOICES else MANY), None)
    if operator == "SUBPATTERN":
        return _sequence(argument[3], choices)
    if operator == "BRANCH":
        return _branches([_sequence(branch, choices) for branch in argument[1]], choices)
    if operator in {"MAX_REPEAT", "MIN_REPEAT"}:
        return _repeat(argument[0], argument[1], _sequence(argument[2], choices))
    return _Shape(None, None)


def _members(items: Any, most: int) -> list[str] | None:
    """Characters of a class that has no more of them; digits are those of ASCII."""
    found: list[str] = []
    for operator, argument in items:
        if str(operator) == "LITERAL":
            found.append(chr(argument))
        elif str(operator) == "RANGE" and argument[1] - argument[0] < most:
            found += map(chr, range(argument[0], argument[1] + 1))
        elif str(argument) == "CATEGORY_DIGIT":
            found += "0123456789"
        else:
            return None
    return None if len(found) > most or "\n" in found or "\r" in found else found


def _branches(shapes: list[_Shape], choices: int) -> _Shape:
    exact: list[str] | None = []
    best: list[str] | None = []
    cases: list[tuple[str, ...]] | None = []
    some: list[Need] | None = []
    for shape in shapes:
        exact = None if exact is None or shape.exact is None else exact + shape.exact
        best = None if best is None or shape.best is None else best + shape.best
        cases = None if cases is None or shape.cases is None else cases + shape.cases
        need = shape.needs()
        some = None if some is None or need is None else [*some, need]
    plain = tuple(text for need in some or () if not need.some and not need.every for text in need.texts)
    rest = tuple(need for need in some or () if need.some or need.every)
    return _Shape(
        exact if exact and len(exact) <= choices else None, best or None, cases or None,
        Need(texts=plain, some=rest) if some else None,
    )  # fmt: skip


def _repeat(least: int, most: int, inner: _Shape) -> _Shape:
    if inner.exact is not None and (least, most) == (0, 1):
        return _Shape(["", *inner.exact], None)
    if inner.exact is not None and (least, most) == (1, 1):
        return inner
    return _Shape(None, inner.best, inner.cases, inner.needs()) if least >= 1 else _Shape(None, None)


def _better(old: list[str] | None, new: list[str] | None) -> list[str] | None:
    """The one whose shortest text is longer."""
    if not new or min(len(text.encode()) for text in new) < SHORTEST:
        return old
    return new if old is None or min(map(len, new)) > min(map(len, old)) else old


def _single(run: list[str]) -> list[tuple[str, ...]] | None:
    """Cases of texts side by side; None where one is too short to be of use."""
    return [(text,) for text in run] if min(map(len, run)) >= SHORTEST else None


def _both(old: list[tuple[str, ...]] | None, new: list[tuple[str, ...]] | None) -> list[tuple[str, ...]] | None:
    """Cases of matches that are of one case each of two lists; where they are too many, of the longer texts."""
    if old is None or new is None:
        return new if old is None else old
    if len(old) * len(new) > CASES:
        return max(old, new, key=lambda cases: min(max(map(len, case)) for case in cases))
    return [left + right for left in old for right in new]
