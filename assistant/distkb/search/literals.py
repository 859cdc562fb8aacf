"""Literal texts that a regular expression cannot match without: a cheap test before compiling it.

Used while the index is built; the answer is stored, so that a query compiles only the few patterns that may match.
"""

from __future__ import annotations

import re
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

MIN_LITERAL = 3
"""Shorter literals would let almost any text through."""

_MAX_CHOICES = 32


def required_literals(pattern: str) -> tuple[str, ...]:
    """List lower-case literals of which at least one is in every match of `pattern`; empty if there is no such list.

    So it is where `re` does not accept the pattern.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            tree = _parser().parse(pattern)
        except (re.error, RecursionError, OverflowError):
            return ()
    return _best(tree) or ()


@cache
def literal_text(pattern: str) -> str:
    """All literal characters of a pattern in order, with spaces for what is not literal: its words, for indexing."""
    parser = _parser()
    chars: list[str] = []
    _collect(parser.parse(pattern), chars)
    return " ".join("".join(chars).split())


def _parser() -> Any:
    try:
        from re import _parser  # type: ignore[attr-defined]
    except ImportError:
        import sre_parse as _parser
    return _parser


def _name(op: object) -> str:
    return str(op).upper()


def _best(items: Iterable[Any]) -> tuple[str, ...] | None:
    """The choice list whose shortest literal is longest, over the items of one sequence."""
    best: tuple[str, ...] | None = None
    text = ""

    def offer(choices: tuple[str, ...] | None) -> None:
        nonlocal best
        if not choices or min(map(len, choices)) < MIN_LITERAL:
            return
        if best is None or min(map(len, choices)) > min(map(len, best)):
            best = choices

    for op, value in items:
        if _name(op) == "LITERAL":
            text += chr(value).lower()
            continue
        offer((text,))
        text = ""
        offer(_inner(_name(op), value))
    offer((text,))
    return best


def _inner(name: str, value: Any) -> tuple[str, ...] | None:
    if name == "SUBPATTERN":
        return _best(value[-1])
    if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"} and value[0] > 0:
        return _best(value[2])
    if name == "ATOMIC_GROUP":
        return _best(value)
    if name == "BRANCH":
        choices: list[str] = []
        for branch in value[1]:
            found = _best(branch)
            if not found:
                return None
            choices += found
        return tuple(choices) if len(choices) <= _MAX_CHOICES else None
    return None


def _collect(items: Iterable[Any], chars: list[str]) -> None:
    for op, value in items:
        name = _name(op)
        if name == "LITERAL":
            chars.append(chr(value))
        elif name == "SUBPATTERN":
            _collect(value[-1], chars)
        elif name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
            _collect(value[2], chars)
            chars.append("" if _is_one_literal(value[2]) else " ")
        elif name == "BRANCH":
            for branch in value[1]:
                _collect(branch, chars)
                chars.append(" ")
        else:
            chars.append(" ")


def _is_one_literal(items: Any) -> bool:
    return len(items) == 1 and _name(items[0][0]) == "LITERAL"
