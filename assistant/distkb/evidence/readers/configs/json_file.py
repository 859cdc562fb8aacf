"""Reads a JSON configuration with the line of every value; comments and trailing commas are read over.

DeepSpeed reads its file as Hjson, which allows them, so they are no reason to refuse a file.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import Any

from distkb.evidence.readers.configs.item import MAX_DEPTH, MAX_NODES, ConfigValue, UnreadableConfigError, written
from distkb.evidence.readers.configs.yaml_file import Duplicates

_SKIP = re.compile(r"(?:[\s,]+|//[^\n]*|#[^\n]*|/\*.*?\*/)+", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD = re.compile(r"[-+.\w]+")


def read_json(text: str) -> tuple[ConfigValue, Duplicates]:
    """Return the root value and the names that are given twice.

    Raises:
        UnreadableConfigError: it is no JSON, or beyond the limits.
    """
    reader = _Reader(text)
    root = reader.value(0)
    reader.skip()
    if reader.at < len(text):
        raise reader.fault("something stands behind the end")
    return root, reader.duplicates


class _Reader:
    """Position in the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.nodes = 0
        self.duplicates: Duplicates = []
        self.breaks = [match.start() for match in re.finditer("\n", text)]

    def line(self, at: int) -> int:
        return bisect_right(self.breaks, at - 1) + 1

    def fault(self, what: str) -> UnreadableConfigError:
        return UnreadableConfigError("not-json", f"line {self.line(self.at)}: {what}")

    def skip(self) -> None:
        found = _SKIP.match(self.text, self.at)
        if found:
            self.at = found.end()

    def value(self, depth: int) -> ConfigValue:
        self.nodes += 1
        if self.nodes > MAX_NODES or depth > MAX_DEPTH:
            limit = f"nested deeper than {MAX_DEPTH}" if depth > MAX_DEPTH else f"more than {MAX_NODES} values"
            raise UnreadableConfigError("too-large-config", limit)
        self.skip()
        start, line = self.at, self.line(self.at)
        mark = self.text[start : start + 1]
        if mark == "{":
            return self._object(line, depth)
        if mark == "[":
            return self._array(line, depth)
        if mark == '"':
            string = self._string()
            return ConfigValue(value=written(string), line=line, text=string, quoted=True)
        return self._word(line)

    def _object(self, line: int, depth: int) -> ConfigValue:
        items: dict[str, ConfigValue] = {}
        self.at += 1
        while True:
            self.skip()
            if self.text[self.at : self.at + 1] == "}":
                self.at += 1
                return ConfigValue(value=items, line=line)
            at = self.line(self.at)
            name = self._string()
            self.skip()
            if self.text[self.at : self.at + 1] != ":":
                raise self.fault("a colon is missing")
            self.at += 1
            item = self.value(depth + 1)
            if name in items:
                self.duplicates.append((name, items[name].line, at))
            items[name] = ConfigValue(value=item.value, line=at, text=item.text, quoted=item.quoted)

    def _array(self, line: int, depth: int) -> ConfigValue:
        items: list[ConfigValue] = []
        self.at += 1
        while True:
            self.skip()
            if self.text[self.at : self.at + 1] == "]":
                self.at += 1
                return ConfigValue(value=tuple(items), line=line)
            items.append(self.value(depth + 1))

    def _string(self) -> str:
        found = _STRING.match(self.text, self.at)
        if found is None:
            raise self.fault("a text in double quotes is missing")
        self.at = found.end()
        try:
            return str(json.loads(found[0]))
        except ValueError:
            raise self.fault("a text has a wrong escape") from None

    def _word(self, line: int) -> ConfigValue:
        found = _WORD.match(self.text, self.at)
        if found is None or len(found[0]) > 100:
            raise self.fault("a value is missing")
        word = found[0]
        self.at = found.end()
        known: dict[str, Any] = {"true": True, "false": False, "null": None}
        if word in known:
            return ConfigValue(value=known[word], line=line, text=word)
        try:
            return ConfigValue(value=json.loads(word), line=line, text=word)
        except ValueError:
            self.at = found.start()
            raise self.fault(f"'{word[:30]}' is no value") from None
