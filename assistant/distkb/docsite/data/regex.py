"""Writes Python's regular expressions as JavaScript's, so that a page finds the lines that the program knows.

The source that comes out means the same with the `u` flag: where the two languages give a class, an anchor or `.`
another meaning, it is spelled out. Named groups keep only their numbers. Two letters are read differently without
regard to case: `İ` and `ı` are an `i` to Python only.
"""

from __future__ import annotations

import importlib
import re
from typing import Any, NamedTuple


class Expression(NamedTuple):
    """A regular expression for `new RegExp(source, flags)`."""

    source: str
    flags: str


class _Mode(NamedTuple):
    ascii: bool
    spell: bool
    """Letters are written in both cases: a part of the pattern has `(?i:…)` of its own."""


_SYNTAX = frozenset("^$\\.*+?()[]{}|/")
_IN_CLASS = frozenset("\\]^[-")
_SPACE = {True: r"\t-\r ", False: r"\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"}
"""White space inside a class, by whether the pattern is for ASCII."""
_NO_SPACE_ASCII = r"\0-\x08\x0e-\x1f!-\u{10ffff}"
_NO_SPACE = (
    r"\0-\x08\x0e-\x1b!-\x84\x86-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff"
    r"\u3001-\u{10ffff}"
)
_WORD = {True: r"\w", False: r"\p{L}\p{N}_"}
_NO_WORD = r"[^\p{L}\p{N}_]"
_DIGIT = {True: r"\d", False: r"\p{Nd}"}


def translate(pattern: str) -> Expression:
    """Return what matches the same spans of one line in JavaScript, so that `.` and `$` stay as they are.

    Raises ValueError for what JavaScript
    does not have: possessive repeats, atomic and conditional groups, `(?m)`, `(?s)` and `(?x)`.
    """
    tree = _parse(pattern)
    if tree.state.flags & (re.MULTILINE | re.DOTALL | re.VERBOSE | re.LOCALE):
        raise ValueError(f"a flag that is not translated: {pattern!r}")
    mode = _Mode(bool(tree.state.flags & re.ASCII), spell=False)
    return Expression(_sequence(tree, mode), "iu" if tree.state.flags & re.IGNORECASE else "u")


def _parse(pattern: str) -> Any:
    """Return the parse tree; its module has no public name, and moved in Python 3.11."""
    try:
        parser = importlib.import_module("re._parser")
    except ImportError:
        parser = importlib.import_module("sre_parse")
    return parser.parse(pattern)


def _sequence(items: Any, mode: _Mode) -> str:
    return "".join(_item(str(operator), argument, mode) for operator, argument in items)


def _item(operator: str, argument: Any, mode: _Mode) -> str:  # noqa: PLR0911 - one line for each kind
    match operator:
        case "LITERAL":
            return _literal(chr(argument), mode)
        case "NOT_LITERAL":
            return f"[^{_member(chr(argument), mode)}]"
        case "ANY":
            return "."
        case "IN":
            return _class(argument, mode)
        case "AT":
            return _anchor(str(argument), mode)
        case "BRANCH":
            return "(?:" + "|".join(_sequence(branch, mode) for branch in argument[1]) + ")"
        case "SUBPATTERN":
            return _group(argument, mode)
        case "MAX_REPEAT" | "MIN_REPEAT":
            return _repeat(argument, mode) + ("?" if operator == "MIN_REPEAT" else "")
        case "ASSERT" | "ASSERT_NOT":
            sign = "=" if operator == "ASSERT" else "!"
            return f"(?{'<' if argument[0] < 0 else ''}{sign}{_sequence(argument[1], mode)})"
        case "GROUPREF":
            return f"(?:\\{argument})"
    raise ValueError(f"a regular expression with {operator.lower()} is not translated")


def _literal(char: str, mode: _Mode) -> str:
    if mode.spell and char.lower() != char.upper():
        return f"[{char.lower()}{char.upper()}]"
    return _escaped(char, _SYNTAX)


def _member(char: str, mode: _Mode) -> str:
    if mode.spell and char.lower() != char.upper():
        return char.lower() + char.upper()
    return _escaped(char, _IN_CLASS)


def _escaped(char: str, syntax: frozenset[str]) -> str:
    if char in syntax:
        return "\\" + char
    known = {"\t": r"\t", "\n": r"\n", "\v": r"\v", "\f": r"\f", "\r": r"\r"}
    if char in known:
        return known[char]
    if char.isprintable():
        return char
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{{{ord(char):x}}}"


def _class(items: Any, mode: _Mode) -> str:
    negated = bool(items) and str(items[0][0]) == "NEGATE"
    parts = [_part(str(operator), argument, mode) for operator, argument in (items[1:] if negated else items)]
    if len(parts) == 1 and not negated and parts[0] in (r"\w", r"\W", r"\d", r"\D", r"\p{Nd}", r"\P{Nd}"):
        return parts[0]
    if len(items) == 1 and str(items[0][1]) == "CATEGORY_NOT_SPACE":
        return f"[^{_SPACE[mode.ascii]}]"
    if _NO_WORD in parts:  # the complement cannot stand among others in a class
        if negated:
            raise ValueError("a negated class with what is no letter is not translated")
        rest = "".join(part for part in parts if part != _NO_WORD)
        return f"(?:{_NO_WORD}|[{rest}])" if rest else _NO_WORD
    return f"[{'^' if negated else ''}{''.join(parts)}]"


def _part(operator: str, argument: Any, mode: _Mode) -> str:  # noqa: PLR0911 - one line for each kind
    """Return one part of a class."""
    if operator == "LITERAL":
        return _member(chr(argument), mode)
    if operator == "RANGE":
        low, high = (chr(code) for code in argument)
        text = f"{_escaped(low, _IN_CLASS)}-{_escaped(high, _IN_CLASS)}"
        swapped = (low.swapcase(), high.swapcase())
        return text + f"{swapped[0]}-{swapped[1]}" if mode.spell and low.isalpha() and high.isalpha() else text
    category = str(argument)
    plain = {"CATEGORY_WORD": _WORD, "CATEGORY_DIGIT": _DIGIT, "CATEGORY_SPACE": _SPACE}
    if category in plain:
        return plain[category][mode.ascii]
    if category == "CATEGORY_NOT_DIGIT":
        return r"\D" if mode.ascii else r"\P{Nd}"
    if category == "CATEGORY_NOT_WORD":
        return r"\W" if mode.ascii else _NO_WORD
    if category == "CATEGORY_NOT_SPACE" and mode.ascii:
        return _NO_SPACE_ASCII
    return _NO_SPACE


def _anchor(name: str, mode: _Mode) -> str:
    match name:
        case "AT_BEGINNING" | "AT_BEGINNING_STRING":
            return "^"
        case "AT_END":
            return "$"
        case "AT_END_STRING":
            return "$"
    inside = name == "AT_BOUNDARY"
    if mode.ascii:
        return r"\b" if inside else r"\B"
    word = f"[{_WORD[False]}]"
    if inside:
        return f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"
    return f"(?:(?<={word})(?={word})|(?<!{word})(?!{word}))"


def _group(argument: Any, mode: _Mode) -> str:
    """Return a group: numbered, named, or for order only."""
    number, add, remove, items = argument
    if remove:
        raise ValueError("a group that takes flags away is not translated")
    inner = _sequence(items, mode._replace(spell=True) if add & re.IGNORECASE else mode)
    if number is None:
        # What the parser keeps of such a group may be a choice, which has a group of its own.
        return inner if re.fullmatch(r"\(\?:[^()|]*\)", inner) else f"(?:{inner})"
    return f"({inner})"


def _repeat(argument: Any, mode: _Mode) -> str:
    least, most, items = argument
    endless = "MAXREPEAT" in str(most)
    inner = _sequence(items, mode)
    single = len(items) == 1 and str(items[0][0]) not in ("AT", "ASSERT", "ASSERT_NOT", "MAX_REPEAT", "MIN_REPEAT")
    if not single:
        inner = f"(?:{inner})"
    if (least, endless) == (0, True):
        return inner + "*"
    if (least, endless) == (1, True):
        return inner + "+"
    if (int(least), None if endless else int(most)) == (0, 1):
        return inner + "?"
    if endless:
        return f"{inner}{{{least},}}"
    return f"{inner}{{{least}}}" if least == most else f"{inner}{{{least},{most}}}"
