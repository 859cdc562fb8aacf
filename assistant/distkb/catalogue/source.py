"""Reads one YAML file to plain values and remembers where every value is written.

The file is untrusted. It is read as a stream of parser events, so that no tag is ever resolved to an object and
nesting, size and aliases are limited before anything is built. What YAML 1.1 would silently turn into something
else (`no`, `1_000`, `12:30`, `010`, dates) is reported instead of guessed.
"""

from __future__ import annotations

import math
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from distkb.catalogue.problem import Problem, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

Key = tuple["str | int", ...]
"""Where a value is inside its file: field names and list indices from the top."""
Place = tuple[int, int]
"""Line and column, both 1-based."""

MAX_BYTES: Final = 1 << 20
MAX_DEPTH: Final = 40
MAX_NODES: Final = 100_000
MAX_DIGITS: Final = 30


class _Invalid:
    """Stands for a value that was already reported, so that nobody reports it again."""

    def __repr__(self) -> str:
        return "INVALID"


INVALID: Final = _Invalid()


@dataclass
class Document:
    """The content of one file, with the place of every value and key."""

    path: Path
    value: Any = INVALID
    values: dict[Key, Place] = field(default_factory=dict)
    keys: dict[Key, Place] = field(default_factory=dict)
    """Places of the field names; the key is the path of the value they name."""
    raw: dict[Key, str] = field(default_factory=dict)
    """Text of unquoted numbers, as written."""
    parts: dict[str, Path] = field(default_factory=dict)
    """Fields that stand in a file of their own."""

    def take_in(self, name: str, part: Document) -> None:
        """Make the content of another file a field of this one; its places stay those of that file."""
        self.parts = {**self.parts, name: part.path}
        self.value = {**self.value, name: part.value}
        self.values = self.values | {(name, *key): place for key, place in part.values.items()}
        self.keys = self.keys | {(name, *key): place for key, place in part.keys.items()}
        self.raw = self.raw | {(name, *key): text for key, text in part.raw.items()}

    def place(self, key: Key, *, of_name: bool = False) -> Place:
        """Return where `key` is written, or its nearest parent that is written; `of_name` prefers the field's name."""
        while key:
            if of_name and key in self.keys:
                return self.keys[key]
            if key in self.values:
                return self.values[key]
            key = key[:-1]
        return self.values.get((), (1, 1))

    def problem(self, key: Key, message: str, *, of_name: bool = False, warning: bool = False) -> Problem:
        """Return a problem at the place of `key`."""
        line, column = self.place(key, of_name=of_name)
        path = self.parts.get(str(key[0]), self.path) if key else self.path
        return Problem(str(path), line, column, plain(message), "warning" if warning else "error")


def read(path: Path) -> tuple[Document, list[Problem]]:
    """Read a YAML file; never raises on its content.

    Returns the document, whose value is `INVALID` where nothing usable could be read, and every problem found.
    """
    document = Document(path)
    try:
        status = path.stat()
        size = status.st_size
        if not stat.S_ISREG(status.st_mode):
            return document, [Problem(str(path), 1, 1, "cannot be read: no regular file")]
        data = path.read_bytes() if size <= MAX_BYTES else b""
    except OSError as error:
        return document, [Problem(str(path), 1, 1, f"cannot be read: {error.strerror or error}")]
    if size > MAX_BYTES:
        return document, [Problem(str(path), 1, 1, f"is larger than {MAX_BYTES >> 20} MiB")]
    return read_bytes(path, data)


def read_bytes(path: Path, data: bytes) -> tuple[Document, list[Problem]]:
    """Read the bytes of a YAML file that is called `path` in messages; see `read`."""
    document = Document(path)
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line_start = before.rfind(b"\n") + 1
        column = len(before[line_start:].decode("utf-8", "replace")) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8: save the file as UTF-8"
        return document, [Problem(str(path), before.count(b"\n") + 1, column, message)]
    reader = _Reader(document)
    reader.read(text)
    reader.problems.sort()
    return document, reader.problems


@dataclass
class _Open:
    """A mapping or list whose end has not been read."""

    key: Key
    value: dict[str, Any] | list[Any]
    name: str | None = None
    """Field whose value comes next; None where a field name comes next."""
    reported: bool = False
    """The value that comes next belongs to a name that was refused."""


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029\ufffe\uffff]")
"""What no text needs; some of it ends a line for YAML and for nothing else."""


class _Reader:
    """Builds one document from parser events."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []
        self.stack: list[_Open] = []
        self.nodes = 0
        self.documents = 0

    def read(self, text: str) -> None:
        """Read the whole text, up to the first thing after which nothing more can be understood."""
        self._tabs(text)
        control = _CONTROL.search(text)
        if control is not None:
            line = text.count("\n", 0, control.start()) + 1
            column = control.start() - (text.rfind("\n", 0, control.start()) + 1) + 1
            self._report((line, column), f"control character U+{ord(control[0]):04X}: write it as an escape")
            return
        import yaml

        try:
            for event in _events(text):
                if not self._take(event):
                    break
        except yaml.MarkedYAMLError as error:
            self._syntax(error, text.split("\n"))
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            self._report((1, 1), f"is not YAML: {str(error).splitlines()[0] if str(error) else 'unreadable'}")
        if self.documents == 0 and not self.problems:
            self._report((1, 1), "is empty")
        if self.problems and self.stack:
            self.document.value = INVALID

    def _report(self, place: Place, message: str) -> None:
        self.problems.append(Problem(str(self.document.path), place[0], place[1], plain(message)))

    def _tabs(self, text: str) -> None:
        for number, line in enumerate(text.split("\n"), 1):
            indent = line[: len(line) - len(line.lstrip(" \t"))]
            if "\t" in indent and line.strip():
                self._report((number, indent.index("\t") + 1), "tab in the indentation: use spaces")

    def _syntax(self, error: Any, lines: list[str]) -> None:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        if place[0] > len(lines):  # libyaml ends the last line by itself
            place = (len(lines), len(lines[-1]) + 1)
        if any(problem.line == place[0] and "tab in" in problem.message for problem in self.problems):
            return
        message = f"is not YAML: {error.problem or error}"
        if error.context:
            at = f" (line {error.context_mark.line + 1})" if error.context_mark else ""
            message += f", {error.context}{at}"
        self._report(place, message)

    def _take(self, event: Any) -> bool:
        """Take one event; False where the rest of the file must not be read."""
        kind = type(event).__name__
        mark = event.start_mark
        place = (mark.line + 1, mark.column + 1)
        if kind == "ScalarEvent":
            self._node(event, place)
            self._scalar(event, place)
        elif kind == "DocumentStartEvent":
            self.documents += 1
            if self.documents > 1:
                self._report(place, "a second document starts here: one file holds one")
                return False
        elif kind == "AliasEvent":
            self._report(place, f"alias '*{event.anchor}': write the value out")
            self._add(INVALID, place)
        elif kind in {"MappingStartEvent", "SequenceStartEvent"}:
            self._node(event, place)
            return self._start({} if kind == "MappingStartEvent" else [], place)
        elif kind in {"MappingEndEvent", "SequenceEndEvent"}:
            self.stack.pop()
        return self._within_limits(place)

    def _within_limits(self, place: Place) -> bool:
        if self.nodes <= MAX_NODES and len(self.stack) <= MAX_DEPTH:
            return True
        limit = f"more than {MAX_NODES} values" if self.nodes > MAX_NODES else f"nested deeper than {MAX_DEPTH}"
        self._report(place, limit)
        self.document.value = INVALID
        return False

    def _node(self, event: Any, place: Place) -> None:
        self.nodes += 1
        if event.anchor is not None:
            self._report(place, f"anchor '&{event.anchor}': write the value out where it is needed")
        if event.tag is not None:
            self._report(place, f"tag '{_short_tag(event.tag)}': values are plain text, numbers, lists and fields")

    def _start(self, value: dict[str, Any] | list[Any], place: Place) -> bool:
        parent = self.stack[-1] if self.stack else None
        if parent is not None and isinstance(parent.value, dict) and parent.name is None and not parent.reported:
            self._report(place, "a field name must be plain text")
            self.document.value = INVALID
            return False
        key = self._add(value, place)
        self.stack.append(_Open(key, value))
        return self._within_limits(place)

    def _add(self, value: Any, place: Place, raw: str | None = None) -> Key:
        """Put a value into the innermost open mapping or list; returns where it went."""
        if not self.stack:
            self.document.value = value
            key: Key = ()
        else:
            parent = self.stack[-1]
            if isinstance(parent.value, list):
                key = (*parent.key, len(parent.value))
                parent.value.append(value)
            elif parent.reported:
                parent.reported, parent.name = False, None
                return (*parent.key, "\0")
            elif parent.name is None:
                parent.reported = True
                return parent.key
            else:
                key = (*parent.key, parent.name)
                parent.value[parent.name] = value
                parent.name = None
        self.document.values.setdefault(key, place)
        if raw is not None:
            self.document.raw[key] = raw
        return key

    def _scalar(self, event: Any, place: Place) -> None:
        plain = event.style in (None, "")
        parent = self.stack[-1] if self.stack else None
        if parent is not None and isinstance(parent.value, dict) and parent.name is None and not parent.reported:
            self._name(parent, event.value, plain=plain, place=place)
            return
        value, trap = scalar(event.value) if plain and event.tag is None else (event.value, None)
        if trap:
            self._report(place, trap)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        self._add(value, place, event.value if is_number else None)

    def _name(self, parent: _Open, name: str, *, plain: bool, place: Place) -> None:
        key = (*parent.key, name)
        if plain and name == "<<":
            self._report(place, "merge key '<<': write the fields out")
        elif plain and not isinstance(scalar(name)[0], str):
            self._report(place, f"field name {name} is not text: quote it: '{name}'")
        elif name in parent.value:
            first = self.document.keys[key]
            self._report(place, f"'{name}' is given twice, first on line {first[0]}")
        else:
            parent.name = name
            self.document.keys[key] = place
            return
        parent.reported = True


def _events(text: str) -> Iterator[Any]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:  # as `yaml.parse` does, without asking before every event whether there is one
        yield from iter(loader.get_event, None)
    finally:
        loader.dispose()


def _short_tag(tag: str) -> str:
    return "!!" + tag.removeprefix("tag:yaml.org,2002:") if tag.startswith("tag:yaml.org,2002:") else tag


_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?[0-9]+\.[0-9]+(?:[eE][-+][0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?")
_SIXTIES = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")
_GROUPED = re.compile(r"[-+]?[0-9][0-9_]*_[0-9_]*(?:\.[0-9_]*)?")
_BASE = re.compile(r"[-+]?0[xXbBoO][0-9a-fA-F_]+")
# YAML 1.1 reads 1e5 and 1.5e5 as texts, YAML 1.2 as numbers.
_ODD_DECIMAL = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+\.|[0-9]+\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_WORDS: Final = {"": None, "~": None, "null": None, "Null": None, "NULL": None, "true": True, "false": False}
_YES = frozenset({"y", "yes", "on", "true"})
_NO = frozenset({"n", "no", "off", "false"})

_TRAPS: tuple[tuple[re.Pattern[str], str], ...] = (
    (_DATE, "an unquoted date"),
    (_SIXTIES, "a number in base 60 to some YAML readers"),
    (_LEADING_ZERO, "an octal number to some YAML readers"),
    (_GROUPED, "a number to some YAML readers"),
    (_BASE, "a number in another base"),
    (_ODD_DECIMAL, "an unusual number"),
)


def scalar(text: str) -> tuple[Any, str | None]:
    """Return the value of an unquoted scalar, and what is wrong with it if readers disagree about it."""
    if text in _WORDS:
        return _WORDS[text], None
    if text.lower() in _YES | _NO:
        meant = "true" if text.lower() in _YES else "false"
        return INVALID, f"unquoted {text} may be read as {meant}: write {meant}, or '{text}' for the word"
    if text in {"=", "<<"}:
        return INVALID, f"unquoted {text} has a meaning of its own: quote it"
    return _number(text) if text[0] in "+-.0123456789" else (text, None)


def _number(text: str) -> tuple[Any, str | None]:
    if _INTEGER.fullmatch(text) and len(text) < MAX_DIGITS:
        return int(text), None
    if _DECIMAL.fullmatch(text) and len(text) < MAX_DIGITS and math.isfinite(float(text)):
        return float(text), None
    if _INTEGER.fullmatch(text) or _DECIMAL.fullmatch(text):
        return INVALID, f"{text[:20]} is out of range for a number: quote it"
    for pattern, what in _TRAPS:
        if pattern.fullmatch(text):
            return INVALID, f"{text} is {what}: quote it: '{text}'"
    return text, None
