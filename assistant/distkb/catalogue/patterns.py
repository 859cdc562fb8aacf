"""What a signature's pattern may contain, so that `re` and Hyperscan agree on every line."""

from __future__ import annotations

import importlib
import re
import warnings
from functools import cache
from typing import Any, Final, NamedTuple

GROUPS: Final = frozenset(
    {
        "rank",
        "peer",
        "op",
        "seq",
        "timeout_ms",
        "sent_bytes",
        "expected_bytes",
        "exitcode",
        "signal",
        "port",
        "host",
        "step",
        "world_size",
        "value",
        "bound",
    }
)
"""Named groups that the program reads."""

LITERAL: Final = 5
"""Shortest run of fixed characters that every match must contain; without it a pattern fits anything.
What people say in their own words, and code, need as many fixed characters but not in one run."""

BOUNDED: Final = re.compile(r"(?<!\\)\{\d*,\d+\}")
"""Bounds that the line scanner does without: a pattern is compiled with `*` in their place."""

_ENDLESS: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<least>\{\d+),\}|(?P<repeat>[*+])|.", re.DOTALL)
_MAX_REPEAT: Final = 1000
_FORBIDDEN: Final = {
    "ASSERT": "look-around",
    "ASSERT_NOT": "look-around",
    "GROUPREF": "a back-reference",
    "GROUPREF_EXISTS": "a conditional group",
    "ATOMIC_GROUP": "an atomic group",
    "POSSESSIVE_REPEAT": "a possessive repeat",
}
_ANCHORS: Final = {"AT_BEGINNING_STRING": r"\A", "AT_END_STRING": r"\Z"}
_ONLY_RE = re.compile(r"(?<!\\)(?:\\\\)*(?:\\[uUN]|\{,[0-9]*\})")
_LONG: Final = 500
"""Characters from which a pattern may be too large for Hyperscan."""
_REPEAT = re.compile(r"(?<!\\)(?:\{[0-9]*,[0-9]*\}|[*+])")
_QUIET_FLAGS: Final = re.IGNORECASE | re.UNICODE


@cache
def fault(pattern: str) -> str | None:
    """Return why a pattern cannot be scanned for, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            tree = _parse(pattern)
    except re.error as error:
        return f"the pattern is not a regular expression: {error}"
    except FutureWarning:
        return "the pattern has a bracket inside brackets: escape it"
    except (OverflowError, RecursionError):
        return "the pattern is too large"
    only_re = _ONLY_RE.search(pattern)
    found = _forbidden(tree)
    if tree.state.flags & ~_QUIET_FLAGS:
        what = "sets a flag other than (?i)"
    elif only_re:
        what = f"uses {only_re[0]}, which the line scanner reads differently"
    elif found:
        what = f"uses {found}, which the line scanner does not know"
    elif tree.getwidth()[0] == 0:
        what = "matches an empty line"
    else:
        return None
    return f"the pattern {what}"


def bounded(pattern: str, most: int) -> str:
    """Return the pattern with no repeat endless: in a line that nobody printed by accident each ends after `most`."""

    def ended(found: re.Match[str]) -> str:
        if found["repeat"]:
            return f"{{{int(found['repeat'] == '+')},{most}}}"
        return f"{found['least']},{max(most, int(found['least'][1:]))}}}" if found["least"] else found[0]

    return _ENDLESS.sub(ended, pattern)


@cache
def scanner_fault(pattern: str, *, in_logs: bool = False) -> str | None:
    """Return why Hyperscan itself refuses the pattern, or None; also where it is not installed (a wheel's build).

    It compiles a shorter form: what Hyperscan refuses hardly depends on how often something repeats or on capitals, and
    these can take it seconds. A long pattern may be too large nonetheless, so that a long one is compiled as logs are
    scanned for it, where they are. Hyperscan compiles without the interpreter's lock: several threads may ask at once.
    """
    try:
        import hyperscan
    except ImportError:
        return None
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    flags = hyperscan.HS_FLAG_UTF8 | hyperscan.HS_FLAG_ALLOWEMPTY
    try:
        database.compile(expressions=[_REPEAT.sub("?", pattern.replace("(?i)", "")).encode()], ids=[0], flags=[flags])
        if in_logs and len(pattern) > _LONG:
            database.compile(expressions=[BOUNDED.sub("*", pattern).encode()], ids=[0], flags=[flags])
    except hyperscan.error as error:
        return f"the line scanner refuses the pattern: {error}"
    return None


def unknown_groups(pattern: str) -> list[str]:
    """Return the named groups of a sound pattern that the program does not read."""
    return sorted(set(re.compile(pattern).groupindex) - GROUPS)


def fixed_run(pattern: str) -> int:
    """Return the length of the longest run of fixed characters in every match; a Hangul syllable counts as two."""
    return _run(_parse(pattern)).longest


def fixed_total(pattern: str) -> int:
    """Return how many fixed characters every match has altogether; a Hangul syllable counts as two."""
    return _run(_parse(pattern)).total


def _parse(pattern: str) -> Any:
    """Return the parse tree; its module has no public name, and moved in Python 3.11."""
    try:
        parser = importlib.import_module("re._parser")
    except ImportError:
        parser = importlib.import_module("sre_parse")
    return parser.parse(pattern)


def _forbidden(tree: Any, *, first: bool = True, last: bool = True) -> str | None:
    """Return what in a sequence the scanner does not know; `first` and `last`: nothing comes before or after it."""
    for index, (operator, argument) in enumerate(tree):
        ends = {"first": first and index == 0, "last": last and index == len(tree) - 1}
        found = _forbidden_piece(str(operator), argument, ends)
        if found:
            return found
    return None


def _forbidden_piece(name: str, argument: Any, ends: dict[str, bool]) -> str | None:
    found = _FORBIDDEN.get(name)
    if name == "AT":
        found = _ANCHORS.get(str(argument))
        if str(argument) == "AT_BEGINNING" and not ends["first"]:
            found = "^ after the start"
        elif str(argument) == "AT_END" and not ends["last"]:
            found = "$ before the end"
    elif name == "LITERAL" and argument in (10, 13):
        found = "a line break"
    elif name == "SUBPATTERN":
        flags = argument[1] | argument[2]
        found = "a flag other than (?i:…)" if flags & ~_QUIET_FLAGS else _forbidden(argument[3], **ends)
    elif name in {"MAX_REPEAT", "MIN_REPEAT"}:
        bounded = [int(limit) for limit in argument[:2] if "MAXREPEAT" not in str(limit)]
        found = "a repeat above 1000" if max(bounded) > _MAX_REPEAT else _forbidden(argument[2], **ends)
    elif name == "BRANCH":
        found = next(filter(None, (_forbidden(branch, **ends) for branch in argument[1])), None)
    return found


class _Fixed(NamedTuple):
    """Fixed characters that every match of a piece of a pattern has."""

    longest: int
    total: int
    whole: bool
    """The piece is nothing but fixed characters."""


def _run(tree: Any) -> _Fixed:
    longest = current = total = 0
    whole = True
    for operator, argument in tree:
        name = str(operator)
        if name == "AT":
            continue
        piece = _piece(name, argument)
        total += piece.total
        if piece.whole:
            current += piece.longest
        else:
            whole, current = False, 0
        longest = max(longest, current, piece.longest)
    return _Fixed(longest, total, whole)


def _piece(name: str, argument: Any) -> _Fixed:
    if name == "LITERAL":
        weight = 2 if argument >= 0x1100 else 1
        return _Fixed(weight, weight, whole=True)
    if name == "SUBPATTERN":
        return _run(argument[3])
    if name == "BRANCH":
        branches = [_run(branch) for branch in argument[1]]
        return _Fixed(min(piece.longest for piece in branches), min(piece.total for piece in branches), whole=False)
    if name in {"MAX_REPEAT", "MIN_REPEAT"}:
        inside, least = _run(argument[2]), int(argument[0])
        run = inside.longest * (least if inside.whole else min(least, 1))
        return _Fixed(run, inside.total * least, whole=False)
    return _Fixed(0, 0, whole=False)
