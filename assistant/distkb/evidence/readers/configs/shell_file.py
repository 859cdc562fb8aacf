"""Finds launch commands and `#SBATCH` lines in shell scripts; variables stay as they are written.

Nothing is expanded and nothing is run: `$N` is an unknown number, and so is `$(nproc)`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from distkb.evidence.readers.configs.flags import BOOLEAN, CARRIERS, LAUNCHERS, WRAPPERS, normal
from distkb.evidence.readers.configs.item import UNKNOWN, Item, Kind, Part, Source

_SBATCH = re.compile(r"#SBATCH\s+(?P<options>[^#]*)")
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
DEFERRED = "\x01"
"""Put before a `$` that the outer shell leaves to the inner one: `\\$` inside double quotes."""
_INNER_QUOTE = re.compile(r"\s-l?c\s+(['\"])")
_STOP = frozenset({"&&", "||", ";", "|", "&", ";;", "(", ")", "{", "}", "then", "do", "else", "fi", "done"})
_SHELLS = frozenset({"bash", "sh", "/bin/bash", "/bin/sh", "zsh"})
_PASSED_BY = frozenset({"exec", "time", "nohup", "env", "command", "sudo", "export", "if", "then", "do", "else", "!"})
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_LAUNCH_WORD = re.compile(r"\b(?:torchrun|accelerate(?: launch|-launch)|deepspeed|torch\.distributed\.\w+)\b")
_MAX_COMMANDS = 200
_MAX_WORDS = 1000
"""Words behind a launcher's own options."""
_MAX_DEPTH = 3
"""Commands inside commands."""
_MAX_COMMAND = 20_000
"""Characters of one command; what is longer is cut into pieces."""
_SHORT_SBATCH = {
    "N": "nodes", "n": "ntasks", "c": "cpus-per-task", "G": "gpus", "J": "job-name", "p": "partition", "t": "time",
    "o": "output", "e": "error", "A": "account", "w": "nodelist", "C": "constraint",
}  # fmt: skip


def read_shell(source: Source) -> list[Part]:
    """Return the `#SBATCH` options as one part and every launch command as one part each."""
    parts: list[Part] = []
    sbatch = _sbatch(source)
    if sbatch is not None:
        parts.append(sbatch)
    assigned: dict[str, Item] = {}
    for line, text in _logical_lines(source.lines):
        for words in _commands(text):
            parts += _read_words(source, words, line, assigned, inner=False, depth=0)
        if len(parts) > _MAX_COMMANDS:
            break
    return parts


def _sbatch(source: Source) -> Part | None:
    root: dict[str, Item] = {}
    first = 0
    for number, line in enumerate(source.lines, 1):
        found = _SBATCH.match(line.strip())
        if found is None:
            continue
        first = first or number
        for name, value in _options(_split(found["options"])):
            root[name] = Item(value=_number(value), line=number, text=value)
    return Part(kind="sbatch", source=source, root=root, line=first, name="sbatch") if first else None


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
        elif word.startswith("-") and len(word) > 1:
            name, equals, value = _SHORT_SBATCH.get(word[1], word[1]), word[2:3], word[2:]
            value = value.removeprefix("=")
        else:
            continue
        if not equals and index < len(words) and not words[index].startswith("-"):
            value = words[index]
            index += 1
        yield name, value


def _logical_lines(lines: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield the first line's number and the text of every command, continued lines joined, comments left out."""
    start, pieces, size, quote, until = 0, list[str](), 0, "", ""
    for number, line in enumerate(lines, 1):
        if until:
            until = "" if line.strip() == until else until
            continue
        if not pieces and line.lstrip().startswith("#"):
            continue
        start = start or number
        quote = _open_quote(line, quote)
        size += len(line)
        stripped = line.rstrip()
        if size < _MAX_COMMAND and (quote or stripped.endswith("\\")):
            pieces.append(stripped.removesuffix("\\"))
            continue
        pieces.append(stripped)
        whole = "\n".join(pieces)
        found = _HEREDOC.search(whole)
        until = found[2] if found else ""
        if whole.strip():
            yield start, whole
        start, pieces, size, quote = 0, [], 0, ""
    if pieces:
        yield start, "\n".join(pieces)


def _open_quote(line: str, quote: str) -> str:
    """Return the quote that is open at the end of a line, given the one that was open before it."""
    escaped = False
    for index, sign in enumerate(line):
        if escaped:
            escaped = False
        elif sign == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign == "#" and (index == 0 or line[index - 1].isspace()):
            break
    return quote


def _split(text: str) -> list[str]:
    lexer = shlex.shlex(text.replace("\n", " "), posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    try:
        return list(lexer)
    except ValueError:
        return text.split()


def _commands(text: str) -> Iterator[list[str]]:
    words: list[str] = []
    for word in _split(text):
        if word in _STOP or set(word) <= {";", "&", "|"}:
            if words:
                yield words
            words = []
        else:
            words.append(word)
    if words:
        yield words


def _read_words(
    source: Source, words: list[str], line: int, assigned: dict[str, Item], *, inner: bool, depth: int
) -> list[Part]:
    """Read one command: its assignments, what wraps it, the launcher and its options."""
    local: dict[str, Item] = {}
    wrappers: list[Part] = []
    index = 0
    while index < len(words):
        word = words[index]
        assignment = _ASSIGNMENT.fullmatch(word)
        if assignment is not None:
            local[assignment["name"]] = _item(source, line, assignment["value"])
        elif word.rpartition("/")[2] in WRAPPERS:
            part, index = _options_of(source, "command", word.rpartition("/")[2], words, index + 1, line)
            wrappers.append(part)
            continue
        elif word in _SHELLS and words[index + 1 : index + 2] and words[index + 1].lstrip("-").endswith("c"):
            script = words[index + 2] if index + 2 < len(words) else ""
            return _inner(source, script, line, {**assigned, **local}, wrappers, depth)
        elif word not in _PASSED_BY and not word.startswith("-"):
            break
        index += 1
    if index >= len(words):
        assigned.update(local)
        return []
    known = {**assigned, **local}
    stored = _stored_command(words[index], known)
    if stored is not None and depth <= _MAX_DEPTH:
        behind = [*_split(stored.text), *words[index + 1 :]]
        found = _read_words(source, behind, stored.line, known, inner=True, depth=depth + 1)
        return [msgspec.structs.replace(part, wrappers=(*wrappers, *part.wrappers)) for part in found]
    return _launch(source, words[index:], line, known, tuple(wrappers), inner=inner)


def _stored_command(word: str, known: Mapping[str, Item]) -> Item | None:
    """Return the command that a variable such as `$LAUNCHER` was given, if that is where the launcher stands."""
    found = _VARIABLE.fullmatch(word)
    item = known.get(found[1]) if found else None
    return item if item is not None and _LAUNCH_WORD.search(item.text) else None


def _inner(
    source: Source, script: str, line: int, assigned: dict[str, Item], wrappers: list[Part], depth: int
) -> list[Part]:
    """Read the text of a `bash -c '…'`, which every task runs for itself."""
    found: list[Part] = []
    if depth > _MAX_DEPTH:
        return found
    own = _is_single_quoted(source, line)
    inside: dict[str, Item] = {} if own else dict(assigned)
    for words in _commands(script if own else script.replace("\\$", f"{DEFERRED}$")):
        found += _read_words(source, words, line, inside, inner=own, depth=depth + 1)
    return [
        msgspec.structs.replace(
            part,
            wrappers=(*wrappers, *part.wrappers),
            extra={
                **part.extra,
                "assigned": {**assigned, **part.extra["assigned"]},
                "per_task": part.extra["assigned"] if own else {},
            },
        )
        for part in found
    ]


def _is_single_quoted(source: Source, line: int) -> bool:
    """Whether the text of a `bash -c` reaches the inner shell as it is, and is not expanded by the outer one."""
    text = " ".join(source.lines[line - 1 : line + 20])
    found = _INNER_QUOTE.search(text)
    return found is None or found[1] == "'"


def _launch(
    source: Source,
    words: list[str],
    line: int,
    assigned: Mapping[str, Item],
    wrappers: tuple[Part, ...],
    *,
    inner: bool,
) -> list[Part]:
    name, skip = _launcher(words)
    if not name:
        return []
    part, end = _options_of(source, "command", name, words, skip, line)
    rest: tuple[Item, ...] = ()
    at = max((item.line for item in part.root.values()), default=line)
    for word in words[end:]:
        rest = (*rest, _item(source, at, word)) if len(rest) < _MAX_WORDS else rest
        at = rest[-1].line
    if name == "python" and not (rest and str(rest[0].value).endswith(".py")):
        return []
    extra: dict[str, Any] = {"assigned": dict(assigned), "inner": inner, "per_task": {}}
    return [msgspec.structs.replace(part, words=rest, wrappers=wrappers, extra=extra)]


def _launcher(words: list[str]) -> tuple[str, int]:
    """Return the launcher that a command starts with, and how many words name it."""
    first = words[0].rpartition("/")[2]
    if first in CARRIERS:
        return _carried(words)
    if first == "accelerate":
        return ("accelerate", 2) if words[1:2] == ["launch"] else ("", 0)
    if first in {"accelerate-launch", "torchrun", "deepspeed"}:
        return {"accelerate-launch": "accelerate"}.get(first, first), 1
    return _python(words) if re.fullmatch(r"python[\d.]*", first) else ("", 0)


def _python(words: list[str]) -> tuple[str, int]:
    """Return the module that a python command runs as a launcher, or python itself for a script."""
    index = 1
    while index < len(words) and words[index] in {"-u", "-O", "-B", "-s", "-E"}:
        index += 1
    if words[index : index + 1] == ["-m"] and index + 1 < len(words):
        return LAUNCHERS.get(words[index + 1], ""), index + 2
    return "python", index


def _carried(words: list[str]) -> tuple[str, int]:
    """Return the launcher behind a command such as `uv run`, and how many words come before its options."""
    for index in range(1, min(len(words), 40)):
        name, skip = _launcher(words[index:]) if words[index] not in CARRIERS else ("", 0)
        if name:
            return name, index + skip
    return "", 0


def _options_of(source: Source, kind: Kind, name: str, words: list[str], index: int, line: int) -> tuple[Part, int]:
    """Read the options of a launcher up to the first word that is none; returns where that word is."""
    root: dict[str, Item] = {}
    boolean = BOOLEAN.get(name, frozenset())
    while index < len(words):
        word = words[index]
        if not word.startswith("-") or word == "--" or len(word) == 1:
            index += word == "--"
            break
        index += 1
        flag, equals, value = word.partition("=")
        key = normal(name, flag)
        if not flag.startswith("--") and len(flag) > 2 and name in WRAPPERS and not equals:
            key, value, equals = normal(name, flag[:2]), flag[2:], "="
        if equals:
            root[key] = _item(source, line, value)
        elif key in boolean or index >= len(words):
            root[key] = Item(value=True, line=_line_of(source, line, word), text=word)
        else:
            root[key] = _item(source, line, words[index], near=word)
            index += 1
    return Part(kind=kind, source=source, root=root, line=line, name=name), index


def _item(source: Source, line: int, value: str, near: str = "") -> Item:
    return Item(value=_number(value), line=_line_of(source, line, near or value), text=value)


def _number(text: str) -> Any:
    if "$" in text or "`" in text:
        return UNKNOWN
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 10 else text


def _line_of(source: Source, line: int, word: str) -> int:
    """Return the line of a continued command on which a word stands."""
    for number in range(line, min(line + 60, len(source.lines) + 1)):
        text = source.lines[number - 1]
        if word and word in text:
            return number
        if not text.rstrip().endswith("\\") and "'" not in text:
            break
    return line
