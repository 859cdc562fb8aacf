"""How many steps `re` may take with a pattern on text that somebody made to be slow.

`re` tries every way of sharing out the text among the repeats of a pattern before it gives up. Where a text can be
shared out between two repeats (`.*a.*b`), or between the search for a start and the first repeat (`ab.*c`), their
lengths multiply. The estimate is the largest such product: it is rather too high than too low.
"""

from __future__ import annotations

import importlib
import re
from collections import deque
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from distkb.catalogue.patterns import bounded

if TYPE_CHECKING:
    from collections.abc import Iterator

LOG_LINE: Final = 1 << 17
"""Characters of a log's line that a pattern sees at once."""
LOG_REPEAT: Final = 1000
"""Times that a piece of a pattern for logs may repeat which says no number itself."""
LOG_MOST: Final = 2e3
"""Steps for each character of a line: what a bounded gap and a word in it make together."""
ROW: Final = 1000
"""Characters of a report's line that a pattern sees at once."""
REPORT_REPEAT: Final = 64
"""Times that a piece of a pattern for reports may repeat which says no number itself."""
REPORT_MOST: Final = 2e8
"""Steps for each character of a row: phrases with several gaps are many ways in theory, and what is tried in them is
cut off by the clock (`evidence/patience.py`); this keeps out what grows without any bound."""
ENDLESS: Final = "inf"

_ASCII = (1 << 128) - 1
_WIDE_WORD, _WIDE_OTHER = 1 << 128, 1 << 129
_FIRST_OWN = 130
_NOTHING = 0
_NEVER = 1e20
"""Steps that nobody waits for: more are not told apart."""


class Loop(NamedTuple):
    """Positions of a pattern that repeat together."""

    characters: int
    length: float
    """Times that it may repeat."""


def effort(pattern: str | re.Pattern[str] | re.Pattern[bytes], length: int) -> float:
    """Return about how many steps a search may take on a text of that length.

    That is `length` for a pattern whose effort grows as the text does, and its square where two repeats compete.
    """
    source, flags = (pattern, 0) if isinstance(pattern, str) else (pattern.pattern, pattern.flags)
    return _effort(source, flags & (re.IGNORECASE | re.ASCII | re.DOTALL | re.VERBOSE), length)


def slow(pattern: str, *, in_logs: bool) -> str | None:
    """Return why a pattern may take too long on a text that was made for it, or None."""
    repeat, length, most = (LOG_REPEAT, LOG_LINE, LOG_MOST) if in_logs else (REPORT_REPEAT, ROW, REPORT_MOST)
    steps = effort(bounded(pattern, repeat), length) / length
    if steps <= most:
        return None
    return f"the pattern may take {steps:.0e} steps for each character, not {most:.0e}: bound its repeats, or part them"


@cache
def _effort(source: str | bytes, flags: int, length: int) -> float:
    text = source.decode("latin-1") if isinstance(source, bytes) else source
    graph = _Graph(text, flags)
    return graph.effort(length)


class _Piece(NamedTuple):
    first: frozenset[int]
    last: frozenset[int]
    empty: bool


_EMPTY = _Piece(frozenset(), frozenset(), empty=True)


class _Graph:
    """The positions of a pattern, and which may follow which."""

    def __init__(self, pattern: str, flags: int) -> None:
        parser = _parser()
        tree = parser.parse(pattern, flags)
        self._fold = bool(tree.state.flags & re.IGNORECASE)
        self._dot = bool(tree.state.flags & re.DOTALL)
        self._own: dict[str, int] = {}
        for char in pattern:
            if ord(char) > 127 and char not in self._own:
                self._own[char] = 1 << (_FIRST_OWN + len(self._own))
        self._all = _ASCII | _WIDE_WORD | _WIDE_OTHER | sum(self._own.values())
        self.sets: list[int] = []
        self.follows: list[dict[int, list[float]]] = []
        """For every position those that may follow, each with the bounds of the repeats that lead back to it."""
        self.edges: set[int] = set()
        """Positions before which a word must begin or end."""
        self._words = self._category("CATEGORY_WORD")
        self.whole = self._sequence(tree)

    def effort(self, length: int) -> float:
        """Return the largest product of the lengths of repeats that share a text, the search itself being one."""
        loops, of = self._loops(length)
        accepting = {of[at] for at in self.whole.last if at in of}
        search = len(loops)
        every = [*loops, Loop(self._all, float(length))]
        starts: list[set[int]] = [set() for _ in every]
        inside: list[set[int]] = [set() for _ in every]
        for at, number in of.items():
            inside[number].add(at)
            starts[number] |= set(self.follows[at])
        starts[search] = set(self.whole.first)
        shared = [
            {
                other: distance
                for other, distance in self._reached(number, every, starts[number], inside[number], of).items()
                if other != number and other not in accepting
            }
            for number in range(len(every))
        ]
        known: dict[int, float] = {}

        def worst(number: int, seen: frozenset[int]) -> float:
            """Of the places that this repeat comes to, every so many are a beginning of the next one."""
            if number in known:
                return known[number]
            more = [worst(other, seen | {other}) / far for other, far in shared[number].items() if other not in seen]
            known[number] = every[number].length * max(1.0, *more, 1.0)
            return known[number]

        return max(worst(number, frozenset((number,))) for number in range(len(every)) if number not in accepting)

    def _reached(
        self, number: int, every: list[Loop], starts: set[int], inside: set[int], of: dict[int, int]
    ) -> dict[int, int]:
        """Return the repeats that can take over the text that this one is fed with, and after how many characters."""
        found: dict[int, int] = {}
        own = every[number].characters
        for mask in {own & other.characters for other in every[:-1]}:
            if mask == _NOTHING:
                continue
            seen: set[int] = set()
            waiting = deque((at, 1) for at in starts if at not in inside)
            while waiting:
                at, distance = waiting.popleft()
                if at in seen or not self.sets[at] & mask:
                    continue
                if at in self.edges and not (mask & self._words and mask & ~self._words):
                    continue  # one long word has no edge inside
                seen.add(at)
                other = of.get(at)
                if other is not None and own & every[other].characters == mask:
                    found[other] = min(distance, found.get(other, distance))
                waiting.extend((to, distance + 1) for to in self.follows[at])
        return found

    def _loops(self, length: int) -> tuple[list[Loop], dict[int, int]]:
        """Return the repeats, and for each position the one that it belongs to."""
        loops: list[Loop] = []
        of: dict[int, int] = {}
        for members in _components(self.follows):
            inner = [bounds for at in members for to, bounds in self.follows[at].items() if to in members]
            if not inner:
                continue
            bounds = sorted({bound for some in inner for bound in some}, reverse=True)
            sizes = [min(bound, float(length)) for bound in bounds] or [1.0]
            size = sizes[0]
            if self._is_ambiguous(members):
                ways = sizes[0] ** min(sizes[-1], 8.0) if len(sizes) > 1 else 2.0 ** min(size, 60.0)
                size = min(_NEVER, ways)
            for at in members:
                of[at] = len(loops)
            characters = _NOTHING
            for at in members:
                characters |= self.sets[at]
            loops.append(Loop(characters, size))
        return loops, of

    def _is_ambiguous(self, members: set[int]) -> bool:
        """Return whether one text can be read in two ways from a position back to it."""
        if any(len(bounds) > 1 for at in members for to, bounds in self.follows[at].items() if to in members):
            return True
        for start in members:
            apart = {pair for pair in self._pairs([(start, start)], members) if pair[0] != pair[1]}
            if apart and any(pair == (start, start) for pair in self._pairs(list(apart), members)):
                return True  # two ways that went apart both come back
        return False

    def _pairs(self, waiting: list[tuple[int, int]], members: set[int]) -> Iterator[tuple[int, int]]:
        """Yield the positions that two ways over one text come to at the same time, each pair once."""
        seen: set[tuple[int, int]] = set()
        while waiting:
            one, two = waiting.pop()
            for left in self.follows[one]:
                for right in self.follows[two]:
                    pair = (left, right)
                    if left not in members or right not in members or pair in seen:
                        continue
                    if not self.sets[left] & self.sets[right]:
                        continue
                    seen.add(pair)
                    waiting.append(pair)
                    yield pair

    # The pattern, piece by piece.

    def _sequence(self, items: Any) -> _Piece:
        whole = _EMPTY
        at_edge = False
        for operator, argument in items:
            ends = str(argument) == "AT_END" and any(self.sets[at] == self._all & ~(1 << 10) for at in whole.last)
            piece = _EMPTY if ends else self._item(str(operator), argument)
            if at_edge:
                self.edges |= piece.first
            at_edge = str(argument) == "AT_BOUNDARY" or (at_edge and piece.empty)
            whole = self._joined(whole, piece)
        return whole

    def _joined(self, left: _Piece, right: _Piece) -> _Piece:
        for at in left.last:
            for to in right.first:
                self.follows[at].setdefault(to, [])
        return _Piece(
            left.first | right.first if left.empty else left.first,
            left.last | right.last if right.empty else right.last,
            left.empty and right.empty,
        )

    def _one(self, characters: int) -> _Piece:
        self.sets.append(characters)
        self.follows.append({})
        here = frozenset((len(self.sets) - 1,))
        return _Piece(here, here, empty=False)

    def _item(self, name: str, argument: Any) -> _Piece:  # noqa: PLR0911 - one line for each kind
        match name:
            case "LITERAL":
                return self._one(self._char(argument))
            case "NOT_LITERAL":
                return self._one(self._all & ~self._char(argument))
            case "ANY":
                return self._one(self._all if self._dot else self._all & ~(1 << 10))
            case "IN":
                return self._one(self._class(argument))
            case "AT":
                # What must stand at a place that no repeat can be fed with; a word's edge shuts out little.
                fixed = str(argument) not in ("AT_BOUNDARY", "AT_NON_BOUNDARY")
                return self._one(_NOTHING) if fixed else _EMPTY
            case "BRANCH":
                if sum(len(branch) == 0 for branch in argument[1]) > 1:
                    break_up = [("ANY", None)]  # `(a|a)`, as the parser sees it: each is a way of its own
                    return self._repeat((0, "MAXREPEAT", [("MAX_REPEAT", (0, "MAXREPEAT", break_up))]))
                pieces = [self._sequence(branch) for branch in argument[1]]
                return _Piece(
                    frozenset().union(*(piece.first for piece in pieces)),
                    frozenset().union(*(piece.last for piece in pieces)),
                    any(piece.empty for piece in pieces),
                )
            case "SUBPATTERN":
                return self._folded(argument)
            case "ATOMIC_GROUP":
                return self._sequence(argument)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                return self._repeat(argument)
            case "ASSERT" | "ASSERT_NOT":
                inner = self._sequence(argument[1])
                return _Piece(inner.first, inner.last, empty=True)
        return self._repeat((0, "MAXREPEAT", [("ANY", None)]))

    def _folded(self, argument: Any) -> _Piece:
        before = self._fold
        self._fold = self._fold or bool(argument[1] & re.IGNORECASE)
        piece = self._sequence(argument[3])
        self._fold = before
        return piece

    def _repeat(self, argument: Any) -> _Piece:
        least, most, items = argument
        piece = self._sequence(items)
        bound = float(ENDLESS) if "MAXREPEAT" in str(most) else float(most)
        if bound > 1:
            for at in piece.last:
                for to in piece.first:
                    self.follows[at].setdefault(to, []).append(bound)
        return _Piece(piece.first, piece.last, piece.empty or int(least) == 0)

    def _char(self, code: int) -> int:
        char = chr(code)
        chars = {char, char.lower(), char.upper()} if self._fold else {char}
        return sum({self._bit(one) for one in chars if len(one) == 1})

    def _bit(self, char: str) -> int:
        if ord(char) < 128:
            return 1 << ord(char)
        return self._own.get(char) or (_WIDE_WORD if char.isalnum() else _WIDE_OTHER)

    def _class(self, items: Any) -> int:
        found = _NOTHING
        negated = False
        for operator, argument in items:
            name = str(operator)
            if name == "NEGATE":
                negated = True
            elif name == "LITERAL":
                found |= self._char(argument)
            elif name == "RANGE":
                found |= self._range(*argument)
            else:
                found |= self._category(str(argument))
        return self._all & ~found if negated else found

    def _range(self, low: int, high: int) -> int:
        found = _NOTHING
        for code in range(low, min(high, 127) + 1):
            found |= self._char(code)
        if high > 127:
            found |= _WIDE_WORD | _WIDE_OTHER
            found |= sum(bit for char, bit in self._own.items() if low <= ord(char) <= high)
        return found

    def _category(self, name: str) -> int:
        kinds = {"WORD": lambda char: char.isalnum() or char == "_", "DIGIT": str.isdecimal, "SPACE": str.isspace}
        test = kinds[name.rpartition("_")[2]]
        found = sum(1 << code for code in range(128) if test(chr(code)))
        found |= sum(bit for char, bit in self._own.items() if test(char))
        found |= _WIDE_WORD if name.endswith("WORD") else _NOTHING
        return self._all & ~found if "_NOT_" in name else found


def _components(follows: list[dict[int, list[float]]]) -> list[set[int]]:
    """Return the positions that can come back to one another, in sets; Tarjan's algorithm without recursion."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on: set[int] = set()
    found: list[set[int]] = []
    for root in range(len(follows)):
        if root in index:
            continue
        work = [(root, iter(follows[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            at, rest = work[-1]
            for to in rest:
                if to not in index:
                    index[to] = low[to] = len(index)
                    stack.append(to)
                    on.add(to)
                    work.append((to, iter(follows[to])))
                    break
                if to in on:
                    low[at] = min(low[at], index[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == index[at]:
                    part: set[int] = set()
                    while True:
                        one = stack.pop()
                        on.discard(one)
                        part.add(one)
                        if one == at:
                            break
                    found.append(part)
    return found


def _parser() -> Any:
    """Return the module of `re` that parses; it has no public name, and moved in Python 3.11."""
    try:
        return importlib.import_module("re._parser")
    except ImportError:
        return importlib.import_module("sre_parse")
