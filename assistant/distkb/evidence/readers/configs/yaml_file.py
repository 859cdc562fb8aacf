"""Reads a YAML configuration the way `yaml.safe_load` would, with the line of every value.

The file is taken as parser events, so that no tag builds an object and depth, size and aliases stay bounded.
Unlike the catalogue's own reader this one must accept what other programs accept: `no` is a boolean here,
because it is one to them.
"""

from __future__ import annotations

from typing import Any

from distkb.evidence.readers.configs.item import (
    MAX_DEPTH,
    MAX_NODES,
    UNKNOWN,
    ConfigValue,
    UnreadableConfigError,
    written,
)

Duplicates = list[tuple[str, int, int]]


def read_yaml(text: str) -> tuple[ConfigValue, Duplicates]:
    """Return the root of the first document and the names that are given twice.

    Raises:
        UnreadableConfigError: it is no YAML, or beyond the limits.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Builder().build(yaml.parse(text, Loader=loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}: " if mark else ""
        raise UnreadableConfigError("not-yaml", f"{where}{error.problem or 'unreadable'}") from None
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        first = str(error).splitlines()
        raise UnreadableConfigError("not-yaml", first[0][:120] if first else "unreadable") from None


class _Open:
    """A mapping or list whose end has not been read."""

    def __init__(self, *, mapping: bool, line: int) -> None:
        self.items: dict[str, ConfigValue] | list[ConfigValue] = {} if mapping else []
        self.line = line
        self.name: tuple[str, int] | None = None
        self.anchor: str | None = None


class _Builder:
    """Builds one document from parser events."""

    def __init__(self) -> None:
        import yaml

        self.stack: list[_Open] = []
        self.root: ConfigValue | None = None
        self.nodes = 0
        self.duplicates: Duplicates = []
        self.scalars: dict[str, ConfigValue] = {}
        self.loader: Any = yaml.SafeLoader("")

    def build(self, events: Any) -> tuple[ConfigValue, Duplicates]:
        for event in events:
            kind = type(event).__name__
            line = event.start_mark.line + 1
            if kind == "AliasEvent":
                self._add(
                    self.scalars.get(event.anchor, ConfigValue(value=UNKNOWN, line=line, text=f"*{event.anchor}")), line
                )
            elif kind == "ScalarEvent":
                item = self._scalar(event, line)
                if event.anchor:
                    self.scalars[event.anchor] = item
                self._add(item, line)
            elif kind in {"MappingStartEvent", "SequenceStartEvent"}:
                self.stack.append(_Open(mapping=kind == "MappingStartEvent", line=line))
            elif kind in {"MappingEndEvent", "SequenceEndEvent"}:
                done = self.stack.pop()
                value = done.items if isinstance(done.items, dict) else tuple(done.items)
                self._add(ConfigValue(value=value, line=done.line), done.line)
            elif kind == "DocumentEndEvent":
                break
            self._check()
        if self.root is None:
            raise UnreadableConfigError("empty")
        return self.root, self.duplicates

    def _check(self) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise UnreadableConfigError("too-large-config", f"more than {MAX_NODES} values")
        if len(self.stack) > MAX_DEPTH:
            raise UnreadableConfigError("too-large-config", f"nested deeper than {MAX_DEPTH}")

    def _add(self, item: ConfigValue, line: int) -> None:
        if not self.stack:
            self.root = item
            return
        parent = self.stack[-1]
        if isinstance(parent.items, list):
            parent.items.append(item)
        elif parent.name is None:
            parent.name = (item.shown if not isinstance(item.value, (dict, tuple)) else "", line)
        else:
            name, at = parent.name
            parent.name = None
            if name in parent.items:
                self.duplicates.append((name, parent.items[name].line, at))
            parent.items[name] = ConfigValue(value=item.value, line=at, text=item.text, quoted=item.quoted)

    def _scalar(self, event: Any, line: int) -> ConfigValue:
        import yaml

        quoted = event.style not in (None, "")
        if quoted or event.tag is not None or len(event.value) > 200:
            return ConfigValue(value=written(event.value), line=line, text=event.value, quoted=quoted)
        tag = self.loader.resolve(yaml.ScalarNode, event.value, (True, False))
        value: Any = written(event.value)
        if tag.rpartition(":")[2] in {"bool", "int", "float", "null"}:
            value = self.loader.construct_object(yaml.ScalarNode(tag, event.value))
        return ConfigValue(value=value, line=line, text=event.value)
