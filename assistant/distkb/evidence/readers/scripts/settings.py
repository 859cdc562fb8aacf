"""What a project keeps in settings files of its own, YAML, TOML and JSON, which its scripts read when they run."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from distkb.evidence.readers.configs.item import ConfigValue, UnreadableConfigError
from distkb.evidence.readers.configs.yaml_file import read_yaml
from distkb.evidence.readers.scripts.imported import real, roots
from distkb.evidence.readers.scripts.names import constant
from distkb.evidence.readers.scripts.source import Script
from distkb.evidence.text.opening import UnreadableError, open_regular

_READERS = {
    "yaml": (".yaml", ".yml"),
    "ruamel": (".yaml", ".yml"),
    "omegaconf": (".yaml", ".yml"),
    "hydra": (".yaml", ".yml"),
    "tomllib": (".toml",),
    "tomli": (".toml",),
    "toml": (".toml",),
    "json": (".json",),
}
"""Modules with which a script reads such files, and how their names end."""
_MOST_FILES, _MOST_BYTES, _MOST_ENTRIES, _MOST_NAMES = 40, 128 << 10, 400, 5000
_DEEPEST = 8


class Settings:
    """The values of all settings files of a project, by the last part of their names."""

    def __init__(self, files: Iterable[object] = ()) -> None:
        """Take what the files hold."""
        self._values: dict[str, list[object]] = {}
        for root in files:
            for name, value in _pairs(root):
                self._values.setdefault(name, []).append(value)

    def __contains__(self, name: str) -> bool:
        """Whether any file has a value of that name."""
        return name in self._values

    def agreed(self, node: ast.expr, inner: str = "") -> object:
        """Return what all files have for `cfg.name` or `cfg["name"]`, or for a name in it; None where they differ."""
        name = node.attr if isinstance(node, ast.Attribute) else None
        key = constant(node.slice) if isinstance(node, ast.Subscript) else name
        found = self._values.get(key, []) if isinstance(key, str) else []
        if inner:
            found = [one.get(inner) if isinstance(one, dict) else None for one in found]
        return found[0] if found and all(one == found[0] for one in found) else None


def settings_of(scripts: Sequence[Script]) -> Settings:
    """Return the settings beside scripts that read such files, and in the folders beside them."""
    modules = {target.partition(".")[0] for script in scripts for target in script.imports.values()}
    endings = frozenset(ending for module in modules for ending in _READERS.get(module, ()))
    return Settings(filter(None, map(_load, _files(scripts, endings)))) if endings else Settings()


def _files(scripts: Sequence[Script], endings: frozenset[str]) -> list[Path]:
    """Return the settings files in the folders from which the scripts import, and one level below."""
    found: dict[str, Path] = {}
    folders = dict.fromkeys(folder for script in scripts for folder in roots(script.path.parent))
    for folder in folders:
        for path in (one for above in (folder, *_folders(folder)) for one in _entries(above)):
            if path.suffix in endings and len(found) < _MOST_FILES:
                found.setdefault(real(path), path)
    return list(found.values())


def _folders(folder: Path) -> list[Path]:
    below = (path for path in _entries(folder) if not path.name.startswith("."))
    return [path for path in below if os.path.isdir(path)]  # noqa: PTH112 - asks without an error


def _entries(folder: Path) -> list[Path]:
    """Return what a folder holds, where it is small enough for a project's."""
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - the names are enough
    except OSError:
        return []
    return [folder / name for name in names] if len(names) <= _MOST_ENTRIES else []


def _load(path: Path) -> object:
    """Return what a file holds as plain values; None where it cannot be read."""
    try:
        with open_regular(path) as raw:
            data = raw.read(_MOST_BYTES + 1)
    except (OSError, UnreadableError):
        return None
    text = data.decode("utf-8-sig", "replace")
    if len(data) > _MOST_BYTES or not text.strip():
        return None
    return {".toml": _toml, ".json": _json}.get(path.suffix, _yaml)(text)


def _json(text: str) -> object:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found


def _toml(text: str) -> object:
    try:
        reader = import_module("tomllib")
    except ImportError:  # Python 3.10
        return None
    try:
        found: object = reader.loads(text)
    except (ValueError, RecursionError):
        return None
    return found


def _yaml(text: str) -> object:
    try:
        return _plain(read_yaml(text)[0])
    except (UnreadableConfigError, RecursionError):
        return None


def _plain(read: ConfigValue) -> Any:
    """Return a value without the lines on which it stands."""
    if isinstance(read.value, dict):
        return {name: _plain(inner) for name, inner in read.value.items()}
    return [_plain(inner) for inner in read.value] if isinstance(read.value, tuple) else read.value


def _pairs(root: object) -> Iterator[tuple[str, object]]:
    """Yield every name of a file with its value."""
    waiting: list[tuple[object, int]] = [(root, 0)]
    count = 0
    while waiting and count < _MOST_NAMES:
        here, depth = waiting.pop()
        for name, value in here.items() if isinstance(here, dict) and depth < _DEEPEST else ():
            count += 1
            yield str(name), value
            waiting.append((value, depth + 1))
