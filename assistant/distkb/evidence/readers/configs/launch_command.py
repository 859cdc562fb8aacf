"""A launch command by its words: which launcher it starts, the options that it gives it, and what comes behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from distkb.evidence.readers.configs.flags import BOOLEAN, CARRIERS, LAUNCHERS, WRAPPERS, normal
from distkb.evidence.readers.configs.item import UNKNOWN, ConfigPart, ConfigValue, Source
from distkb.evidence.readers.configs.shell_values import Variable, amount
from distkb.evidence.readers.configs.shell_words import Word, WordPart
from distkb.evidence.readers.configs.slurm_options import behind


class LaunchLine(msgspec.Struct, frozen=True, kw_only=True):
    """A launch as it can be written again: what stands before the launcher, the launcher, its options, the script."""

    head: tuple[Word, ...]
    launcher: tuple[Word, ...]
    options: tuple[Word, ...]
    rest: tuple[Word, ...]
    outer: tuple[Word, ...] = ()
    """For the text of a `bash -c`: the words before that text."""
    before: tuple[WordPart, ...] = ()
    """What the text says before this command, and after it."""
    after: tuple[WordPart, ...] = ()


def options_of(source: Source, name: str, words: Sequence[Word], index: int, line: int) -> tuple[ConfigPart, int]:
    """Read the options of a launcher up to the first word that is none; returns where that word is.

    A variable whose words are not known may hold options too: then the part is marked as open.
    """
    root: dict[str, ConfigValue] = {}
    typed: dict[str, Word] = {}
    extra: dict[str, Any] = {"typed": typed}
    boolean = BOOLEAN.get(name, frozenset())
    while index < len(words):
        word = words[index]
        text = word.text
        if _may_be_options(word) and name not in WRAPPERS:
            extra["open"] = True
            if not any(after.text.endswith(".py") for after in words[index + 1 :]):
                break
            index += 1
            continue
        if not text.startswith("-") or text == "--" or len(text) == 1:
            index += text == "--"
            break
        index += 1
        flag, equals, _ = text.partition("=")
        key = normal(name, flag)
        typed[flag] = word
        if not flag.startswith("--") and len(flag) > 2 and name in WRAPPERS and not equals:
            if name in ("mpirun", "mpiexec") and index < len(words):
                root[key] = as_item(words[index])
                index += 1
            else:
                root[normal(name, flag[:2])] = as_item(behind(word, 2))
        elif equals:
            root[key] = as_item(behind(word, len(flag) + 1))
        elif key in boolean or index >= len(words):
            root[key] = ConfigValue(value=True, line=word.line, text=text)
        else:
            root[key] = as_item(words[index])
            index += 1
    return ConfigPart(kind="command", source=source, root=root, line=line, name=name, extra=extra), index


def _may_be_options(word: Word) -> bool:
    return len(word.pieces) == 1 and word.pieces[0].expands and not word.pieces[0].quoted


def as_item(word: Word) -> ConfigValue:
    """Return a word as a value."""
    number = amount(word)
    plain = word.text if word.is_plain else UNKNOWN
    value = plain if number is None else number
    line = next((piece.line for piece in word.pieces), word.line)
    return ConfigValue(value=value, line=line, text=word.text, pieces=word.pieces)


def held_by(variable: Variable) -> ConfigValue:
    """Return what a variable holds as a value."""
    if variable.words is None or len(variable.words) != 1:
        return ConfigValue(value=UNKNOWN, line=variable.line, text=f"${variable.name}")
    return msgspec.structs.replace(as_item(variable.words[0]), line=variable.line)


def launcher_of(words: Sequence[str], *, wrapped: bool) -> tuple[str, int]:
    """Return the launcher that a command starts with, and how many words name it."""
    first = words[0].rpartition("/")[2]
    if first in CARRIERS:
        return _carried(words, wrapped=wrapped)
    if first == "accelerate":
        return ("accelerate", 2) if list(words[1:2]) == ["launch"] else ("", 0)
    if first in {"accelerate-launch", "torchrun", "deepspeed"}:
        return {"accelerate-launch": "accelerate"}.get(first, first), 1
    return _python(words, wrapped=wrapped) if re.fullmatch(r"python[\d.]*", first) else ("", 0)


def _python(words: Sequence[str], *, wrapped: bool) -> tuple[str, int]:
    """Return the module that a python command runs as a launcher, or python itself for a script."""
    index = 1
    while index < len(words) and words[index] in {"-u", "-O", "-B", "-s", "-E"}:
        index += 1
    if words[index : index + 1] == ["-m"] and index + 1 < len(words):
        known = LAUNCHERS.get(words[index + 1], "")
        if not known and wrapped:
            return "python", index + 1
        return known, index + 2
    return "python", index


def _carried(words: Sequence[str], *, wrapped: bool) -> tuple[str, int]:
    """Return the launcher behind a command such as `uv run`, and how many words come before its options."""
    for index in range(1, min(len(words), 40)):
        name, skip = launcher_of(words[index:], wrapped=wrapped) if words[index] not in CARRIERS else ("", 0)
        if name:
            return name, index + skip
    return "", 0


def assigned(part: ConfigPart) -> Mapping[str, ConfigValue]:
    """Return the variables that a command sees, by name."""
    found: Mapping[str, ConfigValue] = part.extra.get("assigned", {})
    return found


def expansions(item: ConfigValue | None) -> Iterator[WordPart]:
    """Yield what shells put into a value, and into the variables that it is made of."""
    for piece in item.pieces if item is not None else ():
        yield from (inner for inner in piece.all() if inner.expands)


def is_open(part: ConfigPart) -> bool:
    """Whether a command may have more options than are written: a variable holds some that are not known."""
    return bool(part.extra.get("open"))
