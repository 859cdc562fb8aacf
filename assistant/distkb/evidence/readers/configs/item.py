"""One value of a configuration with the place where it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from distkb.evidence.readers.configs.shell_words import WordPart

MAX_BYTES = 1 << 20
"""Bytes of one configuration file."""
MAX_DEPTH = 40
MAX_NODES = 50_000

Kind = Literal[
    "accelerate",
    "deepspeed",
    "training-arguments",
    "fsdp-config",
    "lightning-trainer",
    "lightning-strategy",
    "call",
    "command",
    "sbatch",
    "axolotl",
    "llama-factory",
    "trl",
    "hostfile",
]
"""What a part configures. `call`: another Python call that matters, such as `MixedPrecision(…)`."""


class UnreadableConfigError(Exception):
    """A file that is no configuration that can be read; `code` and `detail` go into a `Skipped`."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail


class Unknown:
    """Stands for a value that only running the program would tell, such as a variable."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown()
_TEMPLATE = re.compile(r"\$\{[^{}]{1,200}\}|\{\{[^{}]{1,200}\}\}|<[A-Z_ ]{1,60}>")


def written(text: str) -> str | Unknown:
    """Return a text as a value: what a template leaves open, such as `${LR}`, is not known yet."""
    return UNKNOWN if _TEMPLATE.fullmatch(text) else text


class ConfigValue(msgspec.Struct, frozen=True, kw_only=True):
    """A value as it was read."""

    value: Any
    """str, int, float, bool, None, `UNKNOWN`, a dict of names to items, or a tuple of items."""
    line: int
    """Line on which its name stands, or the value itself where it has no name; 1-based."""
    text: str = ""
    """The value as typed, for simple values."""
    quoted: bool = False
    pieces: tuple[WordPart, ...] = ()
    """For a word of a shell script: what is written and what a shell puts in."""

    @property
    def shown(self) -> str:
        """The value for a sentence: as typed where that is known."""
        return self.text or ("null" if self.value is None else str(self.value))


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """The file that a part comes from."""

    name: str
    """As the user named it."""
    lines: tuple[str, ...]

    @property
    def base(self) -> str:
        """Name without its folders."""
        return self.name.replace("\\", "/").rpartition("/")[2]


class ConfigPart(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration found in a file: a whole YAML file, one call of a script, one command of a shell script."""

    kind: Kind
    source: Source
    root: Mapping[str, ConfigValue]
    line: int = 1
    name: str = ""
    """Name of the call or of the launcher."""
    owner: str = ""
    """Kind of the part that this one is written inside of."""
    duplicates: tuple[tuple[str, int, int], ...] = ()
    """Names given twice, with the lines of the first and the second."""
    words: tuple[ConfigValue, ...] = ()
    """For a command: everything behind the launcher's own options, the script first."""
    wrappers: tuple[ConfigPart, ...] = ()
    """For a command: what starts it (srun, mpirun), outermost first."""
    extra: Mapping[str, Any] = {}
    """What else the reader saw: `assigned` variables of a command, `imports` of a script."""

    def get(self, *names: str) -> ConfigValue | None:
        """Return the item under nested names, or None where it is not written."""
        found: Any = self.root
        item: ConfigValue | None = None
        for name in names:
            if not isinstance(found, Mapping) or name not in found:
                return None
            item = found[name]
            found = item.value
        return item

    def value(self, *names: str) -> Any:
        """Return the plain value under nested names, or None where it is not written."""
        item = self.get(*names)
        return None if item is None else item.value

    def first(self, *names: str) -> ConfigValue | None:
        """Return the first of several spellings of one name that is written."""
        return next((self.root[name] for name in names if name in self.root), None)


def number(value: Any) -> int | None:
    """Return a value as a whole number if that is what it says: 8, "8", 8.0."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.strip().isdecimal() and value.isascii() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) else None


_YES = frozenset({"y", "yes", "t", "true", "on", "1"})
_NO = frozenset({"n", "no", "f", "false", "off", "0"})


def truth(value: Any) -> bool | None:
    """Return a value as a yes or no if that is what it says; None for anything else."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (str, int)):
        word = str(value).strip().lower()
        return True if word in _YES else False if word in _NO else None
    return None


def walk(root: Mapping[str, ConfigValue], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], ConfigValue]]:
    """Yield every named value below `root` with its path; lists are not entered."""
    for name, item in root.items():
        here = (*path, name)
        yield here, item
        if isinstance(item.value, Mapping):
            yield from walk(item.value, here)


def plain(value: Any) -> Any:
    """Return a value without places."""
    if isinstance(value, ConfigValue):
        return plain(value.value)
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value
