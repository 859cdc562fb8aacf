"""Reads a pickle of plain containers without the `pickle` module: nothing in it can be imported or called.

Dumps of the flight recorder hold dicts, lists, tuples, strings and numbers. The machine below knows the opcodes for
these and no other: an opcode that looks up a name, builds an object or calls one ends the reading as `unsafe-pickle`
before anything happened. Memory is bounded too: the memo is a dict, so that a large index costs nothing.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from distkb.evidence.readers.flight_recorder.runs import Alike, DumpLayout, EntryBlock, cut, layout_of, learn_clocks

MAX_OPCODES = 4_000_000
"""One second or two, and 250 MB. Of torch's own dumps a few thousand are needed: their entries are cut up otherwise."""
_MAX_MEMO = 1_000_000
_MAX_REFERENCES = 10_000
"""Strings whose references are kept: those of the keys are among the first."""
_DEPTH = 2
"""Containers in one another in a value of an entry: sizes are lists of lists, frames a list of dicts."""
_MAX_LAYOUTS = 4
_MAX_KEYS = 64
"""Of an entry, or of another dict whose contents two ranks are compared by."""
_MAX_LENGTHS = 64
"""Lengths of strings that a layout knows."""
_MAX_DEPTH = 1_000_000
_MAX_MISSES = 2
"""After so many runs that differ a rank is not compared any more."""


class BadPickleError(Exception):
    """The stream ends early or is no pickle of plain containers."""


class TooLongError(BadPickleError):
    """The stream holds more than a dump does."""


class UnsafePickleError(BadPickleError):
    """The stream asks for something to be imported or called."""


_ENTRY_KEYS = frozenset(("record_id", "profiling_name", "process_group"))
_UNSAFE = frozenset(b"cio\x81\x82\x83\x84\x92\x93RPQb")
"""Opcodes that import, build or call: GLOBAL, INST, OBJ, NEWOBJ, EXT1-4, NEWOBJ_EX, STACK_GLOBAL, REDUCE, persistent
ids and BUILD."""


class Stream:
    """One pickle, and its memo once it was read."""

    def __init__(self, data: bytes, alike: Alike | None = None) -> None:
        self._data = data
        self._alike = alike or Alike()
        self._signature: int | None = 0
        """Of the memo as far as it was read: with the same one the same bytes mean the same entries."""
        self._misses = 0
        self._memo: dict[int, Any] = {}
        self._next = 0
        """Number that the next value gets which is put in the memo without one."""
        self._opened: list[tuple[int, Any]] = []
        """Containers in the memo that were empty then: they count for the signature once they are filled."""
        self._gaps: list[tuple[int, int, int, int]] = []
        """First number, count, place and length of what runs put in the memo: read where something refers to it."""
        self._quiet = False
        """While pieces are read a second time: nothing new is learned from them."""
        self._strings: frozenset[int] = frozenset()
        self._references: dict[str, bytes] = {}
        self._layouts: dict[tuple[str, ...], DumpLayout | None] = {}
        self._left = MAX_OPCODES

    def load(self) -> Any:
        """Return the document; lists of entries hold dicts and `EntryBlock`s. Raises BadPickleError."""
        return self._run(self._data)

    def fields(self, piece: bytes) -> dict[str, Any]:
        """Return the keys and values of one piece of a `EntryBlock`. Raises BadPickleError."""
        value: dict[str, Any] = self._again(b"}(" + piece + b"u.", None)
        return value

    def _again(self, data: bytes, first: int | None) -> Any:
        """Read bytes of a run; what they put in the memo gets numbers from `first` on, or is dropped."""
        kept = self._quiet, self._next
        self._quiet, self._next = True, -1 if first is None else first
        try:
            return self._run(data)
        finally:
            self._quiet, self._next = kept

    def _run(self, data: bytes) -> Any:
        try:
            return _Machine(self, data).run()
        except BadPickleError:
            raise
        except (IndexError, KeyError, ValueError, TypeError, AttributeError, struct.error, OverflowError) as wrong:
            raise BadPickleError(type(wrong).__name__) from None

    # What a machine tells about the stream.

    def remember(self, index: int, value: Any) -> None:
        """Put a value in the memo; of strings the reference that will stand for them is kept."""
        if not self._quiet and index not in self._memo:
            self._next += 1
        self._memo[index] = value
        if len(self._memo) > _MAX_MEMO:
            raise TooLongError
        if self._quiet:
            return
        if type(value) is str and len(self._references) < _MAX_REFERENCES:
            self._references[value] = (b"h" + bytes((index,))) if index < 256 else b"j" + struct.pack("<I", index)
        if type(value) in (list, dict) and not value:
            self._opened.append((index, value))
        elif self._signature is not None:
            comparable = _comparable(value)
            self._signature = None if comparable is None else hash((self._signature, index, comparable))

    def remember_next(self, value: Any) -> None:
        """Put a value in the memo under the next number."""
        if not self._quiet:
            self.remember(self._next, value)
        elif self._next >= 0:
            self._memo[self._next] = value
            self._next += 1

    def recall(self, index: int) -> Any:
        """Return what the memo holds."""
        if index not in self._memo:
            at = bisect_right(self._gaps, index, key=lambda gap: gap[0]) - 1
            first, count, start, length = self._gaps[at] if at >= 0 else (0, 0, 0, 0)
            if not first <= index < first + count:
                raise BadPickleError("memo")
            self._gaps[at] = (first, 0, 0, 0)  # what refers to what comes after it is damaged, and no circle
            self._again(b"](" + self._data[start : start + length] + b"e.", first)
        return self._memo[index]

    def spend(self, opcodes: int) -> None:
        """Count opcodes against the limit."""
        self._left -= opcodes
        if self._left < 0:
            raise TooLongError

    def learn(self, entry: dict[Any, Any]) -> None:
        """Learn the layout of entries from one that was read opcode by opcode."""
        if len(self._layouts) >= _MAX_LAYOUTS or len(entry) > _MAX_KEYS:
            return
        keys = tuple(entry)
        strings = self._strings
        if self._opened and len(strings) < _MAX_LENGTHS:
            strings |= {len(text.encode()) for text in _texts(entry)}
        if keys not in self._layouts or strings != self._strings:
            self._strings = strings
            self._layouts[keys] = layout_of(keys, self._references, strings)

    def run_at(self, data: bytes, at: int) -> EntryBlock | None:
        """Return entries of one layout that follow from `at`: as many as a window holds."""
        if self._quiet:
            return None
        found = self._found_at(data, at)
        if found is not None and found.puts:
            self._gaps.append((self._next, found.puts, at, found.length))
            self._next += found.puts
            if self._signature is not None:
                self._signature = hash((self._signature, found.serial))
        return found

    def _found_at(self, data: bytes, at: int) -> EntryBlock | None:
        if self._signature is not None:
            for index, value in self._opened:
                self._signature = hash((self._signature, index, _comparable(value)))
        self._opened = self._opened[:1]
        for layout in self._layouts.values():
            first = None if layout is None else layout.entry.match(data, at)
            if layout is None or first is None:
                continue
            numbers = layout.numbers_of(first)
            known = {} if self._signature is None else self._alike.runs(self._signature)
            run = known.get(numbers)
            if run is not None and self._misses <= _MAX_MISSES:
                if _is_same(layout, run, data[at : at + run.length]):
                    return run
                self._misses += 1
            run = cut(layout, data, at, numbers, first.end() - at)
            if self._signature is not None:
                self._alike.keep(self._signature, numbers, run)
            return run
        return None


def _is_same(layout: DumpLayout, run: EntryBlock, piece: bytes) -> bool:
    """Return whether the bytes differ from those of another rank's run in clocks only."""
    if not run.times:
        return learn_clocks(layout, run, piece)
    return len(piece) == run.length and int.from_bytes(piece, "little") & run.times == run.masked


def _comparable(value: Any, depth: int = 0) -> Any:
    """Return a value of the memo as two ranks can be compared by it, thread ids left out; None where that is costly."""
    if type(value) is str:
        return "" if 10 <= len(value) <= 20 and value.isdecimal() else value
    if type(value) is dict and 0 < len(value) <= _MAX_KEYS and all(type(item) in (str, int) for item in value.values()):
        return tuple(value.items())
    if type(value) in (list, tuple) and len(value) <= _MAX_KEYS and depth < _DEPTH:
        return tuple(item if type(item) is int else _comparable(item, depth + 1) for item in value)
    return None


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the strings of an entry that one byte tells the length of."""
    if type(value) is str:
        if len(value.encode()) < 256:
            yield value
    elif depth > _DEPTH:
        return
    elif type(value) is dict:
        for item in islice(value.values(), _MAX_KEYS):
            yield from _texts(item, depth + 1)
    elif type(value) in (list, tuple):
        for item in value[:_MAX_KEYS]:
            yield from _texts(item, depth + 1)


_MARK = object()


class _Machine:
    """The stack and the position of one reading."""

    def __init__(self, stream: Stream, data: bytes) -> None:
        self.stream = stream
        self.data = data
        self.at = 0
        self.stack: list[Any] = []

    def run(self) -> Any:
        data, handlers = self.data, _HANDLERS
        spent = 0
        while True:
            code = data[self.at]
            self.at += 1
            spent += 1
            if spent == 10_000:
                self.stream.spend(spent)
                spent = 0
            if code == 0x2E:  # STOP
                return self.stack.pop()
            handler = handlers.get(code)
            if handler is None:
                raise UnsafePickleError(chr(code)) if code in _UNSAFE else BadPickleError(f"opcode {code}")
            handler(self)

    def take(self, count: int) -> bytes:
        """Return the next bytes. Raises BadPickleError where the stream ends before."""
        end = self.at + count
        if count < 0 or end > len(self.data):
            raise BadPickleError("truncated")
        piece = self.data[self.at : end]
        self.at = end
        return piece

    def line(self) -> bytes:
        end = self.data.find(b"\n", self.at)
        if end < 0:
            raise BadPickleError("truncated")
        piece = self.data[self.at : end]
        self.at = end + 1
        return piece

    def push(self, value: Any) -> None:
        self.stack.append(value)
        if len(self.stack) > _MAX_DEPTH:
            raise BadPickleError("too-deep")

    def pop_mark(self) -> None:
        self.above_mark()

    def frame(self) -> None:
        self.number("<Q")

    def above_mark(self) -> list[Any]:
        """Take what lies above the topmost mark."""
        stack = self.stack
        position = len(stack) - 1
        while stack[position] is not _MARK:
            position -= 1
            if position < 0:
                raise BadPickleError("no-mark")
        values = stack[position + 1 :]
        del stack[position:]
        return values

    def set_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not dict:
            raise BadPickleError("no-dict")
        for index in range(0, len(items) - 1, 2):
            target[_key(items[index])] = items[index + 1]
        if target.keys() >= _ENTRY_KEYS:
            self.stream.learn(target)

    def append(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not list:
            raise BadPickleError("no-list")
        target.extend(values)

    def empty_dict(self) -> None:
        if self.data.startswith((b"(", b"\x94("), self.at):
            run = self.stream.run_at(self.data, self.at - 1)
            if run is not None:
                self.push(run)
                self.at += run.length - 1
                return
        self.push({})

    def get(self, index: int) -> None:
        self.push(self.stream.recall(index))

    def put(self, index: int) -> None:
        self.stream.remember(index, self.top())

    def memoize(self) -> None:
        self.stream.remember_next(self.top())

    def top(self) -> Any:
        value = self.stack[-1]
        if value is _MARK or type(value) is EntryBlock:
            raise BadPickleError("memo")
        return value

    def pack(self, count: int) -> None:
        values = tuple(self.stack[-count:]) if count else ()
        if len(values) != count or _MARK in values:
            raise BadPickleError("tuple")
        if count:
            del self.stack[-count:]
        self.push(values)

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def text(self, count: int) -> None:
        self.push(self.take(count).decode("utf-8", "replace"))

    def long(self, count: int) -> None:
        self.push(int.from_bytes(self.take(count), "little", signed=True))

    def old_int(self) -> None:
        text = self.line()
        self.push({b"00": False, b"01": True}[text] if text in (b"00", b"01") else _decimal(text))

    def old_string(self) -> None:
        text = self.line().strip()
        if len(text) < 2 or text[:1] != text[-1:] or text[:1] not in (b"'", b'"'):
            raise BadPickleError("string")
        self.push(text[1:-1].decode("utf-8", "replace"))

    def pop(self) -> None:
        self.stack.pop()

    def protocol(self) -> None:
        if self.number("<B") > 5:
            raise BadPickleError("protocol")

    def dictionary(self) -> None:
        items = self.above_mark()
        self.push({})
        self.set_items(items)

    def one_item(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.set_items([key, value])

    def one_value(self) -> None:
        value = self.stack.pop()
        self.append([value])


def _key(value: Any) -> Any:
    """Return a key of a dict: strings and numbers only, which hash at no cost."""
    if type(value) in (str, int, bool, float) or value is None:
        return value
    raise BadPickleError("key")


def _decimal(text: bytes) -> int:
    digits = text.strip().removesuffix(b"L")
    if len(digits) > 40:
        raise BadPickleError("number")
    return int(digits)


_HANDLERS: dict[int, Callable[[_Machine], None]] = {
    0x80: _Machine.protocol,
    0x95: _Machine.frame,
    ord("("): lambda m: m.push(_MARK),
    ord("}"): _Machine.empty_dict,
    ord("]"): lambda m: m.push([]),
    ord(")"): lambda m: m.push(()),
    ord("d"): _Machine.dictionary,
    ord("l"): lambda m: m.push(m.above_mark()),
    ord("t"): lambda m: m.push(tuple(m.above_mark())),
    0x85: lambda m: m.pack(1),
    0x86: lambda m: m.pack(2),
    0x87: lambda m: m.pack(3),
    ord("u"): lambda m: m.set_items(m.above_mark()),
    ord("s"): _Machine.one_item,
    ord("e"): lambda m: m.append(m.above_mark()),
    ord("a"): _Machine.one_value,
    ord("h"): lambda m: m.get(m.number("<B")),
    ord("j"): lambda m: m.get(m.number("<I")),
    ord("g"): lambda m: m.get(_decimal(m.line())),
    ord("q"): lambda m: m.put(m.number("<B")),
    ord("r"): lambda m: m.put(m.number("<I")),
    ord("p"): lambda m: m.put(_decimal(m.line())),
    0x94: _Machine.memoize,
    ord("N"): lambda m: m.push(None),
    0x88: lambda m: m.push(True),
    0x89: lambda m: m.push(False),
    ord("K"): lambda m: m.push(m.number("<B")),
    ord("M"): lambda m: m.push(m.number("<H")),
    ord("J"): lambda m: m.push(m.number("<i")),
    0x8A: lambda m: m.long(m.number("<B")),
    ord("I"): _Machine.old_int,
    ord("L"): lambda m: m.push(_decimal(m.line())),
    ord("G"): lambda m: m.push(m.number(">d")),
    ord("F"): lambda m: m.push(float(m.line()[:40])),
    ord("X"): lambda m: m.text(m.number("<I")),
    0x8C: lambda m: m.text(m.number("<B")),
    0x8D: lambda m: m.text(m.number("<Q")),
    ord("V"): lambda m: m.push(m.line().decode("raw-unicode-escape")),
    ord("S"): _Machine.old_string,
    ord("U"): lambda m: m.text(m.number("<B")),
    ord("T"): lambda m: m.text(m.number("<i")),
    ord("C"): lambda m: m.text(m.number("<B")),
    ord("B"): lambda m: m.text(m.number("<I")),
    ord("0"): _Machine.pop,
    ord("1"): _Machine.pop_mark,
}
