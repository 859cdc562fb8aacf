"""Follows a shell script from its first line to its last: what it assigns, where it quotes, and what it launches.

Nothing is run. A variable counts as what the script gives it where that is certain; what only running would tell stays
as it is written, with the shell that puts it in: the login node's, the batch script's, or that of each task.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from distkb.evidence.readers.configs.flags import JOINED, STARTERS, WRAPPERS
from distkb.evidence.readers.configs.item import ConfigPart, ConfigValue, Source
from distkb.evidence.readers.configs.launch_command import LaunchLine, as_item, held_by, launcher_of, options_of
from distkb.evidence.readers.configs.shell_values import Values, amount
from distkb.evidence.readers.configs.shell_words import ShellCommand, Text, Word, WordPart, commands
from distkb.evidence.readers.configs.slurm_options import options, sbatch_options, slurm_variables

_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)(?P<plus>\+?)=", re.DOTALL)
_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
_PASSED_BY = frozenset({"exec", "time", "nohup", "env", "command", "sudo", "eval", "!"})
_OPENS = frozenset({"if", "while", "until", "case", "select", "for"})
_ROUNDS = frozenset({"while", "until", "select", "for"})
_CLOSES = frozenset({"fi", "done", "esac"})
_KEYWORDS = _OPENS | _CLOSES | {"then", "do", "else", "elif", "{", "}", "in", "function"}
_DECLARES = frozenset({"export", "declare", "local", "readonly", "typeset"})
_MAX_COMMANDS = 200
_MAX_REST = 1000
"""Words behind a launcher's own options."""
_MAX_DEPTH = 3
"""Commands inside commands."""


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """A job that another script submits as text: what that script's shell puts into it before Slurm sees it."""

    pieces: tuple[WordPart, ...]
    assigned: Mapping[str, tuple[WordPart, ...]]
    """What the job itself gives to its variables."""
    statement: str
    """The command that holds the text, as it is written."""
    in_quotes: bool
    """Whether the text stands between double quotes, not in a heredoc."""


class _Written(NamedTuple):
    """Text that a command holds for another to read."""

    pieces: tuple[WordPart, ...] = ()
    statement: str = ""


def read_shell(source: Source) -> list[ConfigPart]:
    """Return the options of every job and every launch command as one part each, in the order of the lines."""
    text = Text([WordPart(text="\n".join(source.lines), line=1)])
    reader = _Reader(source, [], Values(), scope="login", depth=0)
    reader.read(text)
    return reader.parts


class _Reader:
    """Reads one script: a file, a heredoc, or the text of a `bash -c`."""

    def __init__(self, source: Source, parts: list[ConfigPart], values: Values, *, scope: str, depth: int) -> None:
        self.source = source
        self.parts = parts
        self.values = values
        self.scope = scope
        self.depth = depth
        self.script = len(parts)
        """Tells the scripts of one file apart."""
        self.blocks = 0
        self.loops = 0
        self.waits = 0
        """How many times the script has waited for what it started in the background."""
        self.chained: tuple[ShellCommand, ...] = ()
        """The commands that stand before this one, each with an `&&` behind it."""
        self.wrappers: tuple[ConfigPart, ...] = ()
        self.per_task: dict[str, ConfigValue] = {}
        self.files: dict[str, _Written] = {}
        self.outer: tuple[Word, ...] = ()
        self.text = Text([])
        self.stdin = _Written()

    def read(self, text: Text, given: Sequence[Word] = ()) -> None:
        """Read a script; `given` are the options of the `sbatch` that submits it."""
        self.text = text
        root, late = sbatch_options(text)
        root |= {name: ConfigValue(value=amount(w), line=w.line, text=w.text) for name, w in options(given)}
        if root:
            self.scope = "batch"
            first = min(item.line for item in root.values())
            extra = {"script": self.script, "late": late}
            self.parts.append(
                ConfigPart(kind="sbatch", source=self.source, root=root, line=first, name="sbatch", extra=extra)
            )
            self.values.slurm = slurm_variables(root)
        for command in commands(text):
            if len(self.parts) - self.script > _MAX_COMMANDS:
                break
            self._command(command)

    def _command(self, command: ShellCommand) -> None:
        self._take(command)
        self.chained = (*self.chained, command) if command.operator == "&&" else ()

    def _take(self, command: ShellCommand) -> None:
        words = self._without_keywords(list(command.words))
        if not words or (words[0].text in _DECLARES and self._declare(words[1:])):
            return
        local = self._assignments(words)
        words = words[len(local) :]
        if not words:
            for word in local:
                self._assign(word, exported=None)
            return
        self.waits += words[0].text == "wait"
        if words[0].text in ("set", "unset", "shift", "read"):
            self._builtin(words)
            return
        before = self.values
        self.values = before.copy()
        for word in local:
            self._assign(word, exported=True)
        # The words are expanded by the shell as it was: `N=2 echo $N` does not print 2.
        expanded = [new for word in words for new in before.expand(word, self.scope)]
        self._run(expanded, tuple(local), command)
        self.values = before

    def _without_keywords(self, words: list[Word]) -> list[Word]:
        while words and words[0].text in _KEYWORDS and not any(p.quoted for p in words[0].pieces):
            word = words.pop(0).text
            self.blocks += (word in _OPENS) - (word in _CLOSES)
            self.loops += (word in _ROUNDS) - (word == "done")
            if word == "for" and words:
                self.values.forget(words.pop(0).text)
                return []
            if word == "case":
                return []
            if word == "function":
                words = words[1:]
        return words

    def _assignments(self, words: Sequence[Word]) -> list[Word]:
        found: list[Word] = []
        for word in words:
            first = word.pieces[0] if word.pieces else None
            if first is None or first.expands or first.quoted or not _ASSIGNMENT.match(first.text):
                break
            found.append(word)
        return found

    def _declare(self, words: Sequence[Word]) -> bool:
        exported = True
        for word in words:
            if word.text.startswith("-"):
                exported = exported and "n" not in word.text
            elif self._assignments([word]):
                self._assign(word, exported=exported)
            else:
                self.values.export(word.text)
        return True

    def _builtin(self, words: Sequence[Word]) -> None:
        texts = [word.text for word in words]
        if texts[0] == "set" and ("-a" in texts or "allexport" in texts):
            self.values.exports_all = True
        elif texts[0] in ("unset", "read"):
            for name in texts[1:]:
                self.values.forget(name, unset=texts[0] == "unset")

    def _assign(self, word: Word, *, exported: bool | None) -> None:
        found = _ASSIGNMENT.match(word.pieces[0].text)
        if found is None:
            return
        first = msgspec.structs.replace(word.pieces[0], text=word.pieces[0].text[found.end() :])
        pieces = (first, *word.pieces[1:]) if first.text or len(word.pieces) == 1 else word.pieces[1:]
        variable = self.values.assign(
            found["name"], msgspec.structs.replace(word, pieces=pieces), self.scope,
            more=bool(found["plus"]), exported=exported, sure=not self.blocks,
        )  # fmt: skip
        item = held_by(variable)
        if self.scope == "task":
            self.per_task[found["name"]] = item

    def _run(self, words: list[Word], local: tuple[Word, ...], command: ShellCommand) -> None:
        """Take what wraps a command off it, and read what is launched."""
        wrappers: list[ConfigPart] = []
        index = 0
        while index < len(words):
            word = words[index]
            base = word.text.rpartition("/")[2]
            if self._assignments([word]) and index:
                self._assign(word, exported=True)
            elif base in WRAPPERS:
                part, index = options_of(self.source, base, words, index + 1, word.line)
                wrappers.append(part)
                if base in JOINED:
                    self._joined(words, index + (base == "ssh"), wrappers)
                    return
                continue
            elif base == "sbatch":
                self._submitted(words[index + 1 :], command)
                return
            elif base in _SHELLS or word.text.removeprefix("./") in self.files:
                if self._shell(words, index, local, wrappers, command):
                    return
                break
            elif base == "cat" and command.heredoc is not None:
                if command.into:
                    self.files[command.into.removeprefix("./")] = self._heredoc(command)
                self.stdin = self._heredoc(command) if command.piped else _Written()
                return
            elif base not in _PASSED_BY and not word.text.startswith("-"):
                break
            index += 1
        if index < len(words):
            self._launch(words, index, local, wrappers, command)

    def _heredoc(self, command: ShellCommand) -> _Written:
        if command.heredoc is None:
            return _Written()
        pieces = tuple(
            new
            for piece in command.heredoc.pieces
            for new in (self.values.put_in(piece, self.scope) if piece.expands else (piece,))
        )
        return _Written(pieces, self._statement(command, command.heredoc.end))

    def _statement(self, command: ShellCommand, end: int) -> str:
        """Return a command as it is written, without the keyword before it."""
        text = "".join(piece.text for piece in self.text.pieces(command.span[0], end)).rstrip()
        while text.partition(" ")[0] in _KEYWORDS:
            text = text.partition(" ")[2].lstrip()
        return text

    def _joined(self, words: list[Word], index: int, wrappers: list[ConfigPart]) -> None:
        """`ssh host …` gives its words to a shell of the other machine as one text."""
        blank = WordPart(text=" ", line=words[0].line)
        pieces = [p for word in words[index:] for p in (*word.pieces, blank)]
        self._inner(pieces, wrappers, outer=())

    def _shell(
        self, words: list[Word], index: int, local: tuple[Word, ...], wrappers: list[ConfigPart], command: ShellCommand
    ) -> bool:
        """Read what a shell is given: a text behind -c, a heredoc, or a file that this script has written."""
        if words[index].text.removeprefix("./") in self.files:
            self._inner(self.files[words[index].text.removeprefix("./")].pieces, wrappers, outer=())
            return True
        for at in range(index + 1, len(words)):
            text = words[at].text
            if text.startswith("-") and text.endswith("c") and at + 1 < len(words):
                outer = (*local, *words[: at + 1])
                self._inner(words[at + 1].pieces, wrappers, outer=outer, arguments=words[at + 3 :])
                return True
            if not text.startswith("-"):
                known = self.files.get(text.removeprefix("./"))
                if known is not None:
                    self._inner(known.pieces, wrappers, outer=())
                return known is not None
        pieces = self._heredoc(command).pieces or self.stdin.pieces
        if pieces:
            self._inner(pieces, wrappers, outer=())
        return bool(pieces)

    def _inner(
        self,
        pieces: Sequence[WordPart],
        wrappers: list[ConfigPart],
        *,
        outer: tuple[Word, ...],
        arguments: Sequence[Word] = (),
    ) -> None:
        if self.depth >= _MAX_DEPTH:
            return
        starts = next((wrapper.name for wrapper in wrappers if wrapper.name in STARTERS), "")
        values = self.values.child(starts in JOINED)
        if arguments:
            values.takes(arguments, arguments[0].line)
        inner = _Reader(self.source, self.parts, values, scope="task" if starts else self.scope, depth=self.depth + 1)
        inner.script, inner.files, inner.outer = self.script, self.files, outer
        inner.wrappers = (*self.wrappers, *wrappers)
        inner.loops = self.loops
        for wrapper in wrappers:
            values.given(str(wrapper.value("export") or "") if wrapper.name == "srun" else "")
        text = Text(pieces)
        inner.text = text
        for command in commands(text):
            if len(self.parts) - self.script > _MAX_COMMANDS:
                break
            inner._command(command)

    def _submitted(self, words: list[Word], command: ShellCommand) -> None:
        """Read the job that an `sbatch` in a script submits: from a heredoc, from --wrap, or a file written before."""
        if self.depth >= _MAX_DEPTH:
            return
        given = dict(options(words))
        held = self._heredoc(command) if command.heredoc is not None else self.stdin
        if "wrap" in given:
            held = _Written(given["wrap"].pieces, self._statement(command, command.span[1]))
        for word in words:
            held = held if held.pieces else self.files.get(word.text.removeprefix("./"), held)
        if not held.pieces:
            return
        job = _Reader(self.source, self.parts, self.values.child(False), scope="batch", depth=self.depth + 1)
        early = tuple(msgspec.structs.replace(p, scope="login") if p.expands else p for p in held.pieces)
        at = len(self.parts)
        job.read(Text(early), words)
        for part in self.parts[at : at + 1]:
            own = {name: v.words for name, v in job.values.known.items() if v.words is not None}
            outside = Submitted(
                pieces=tuple(p for p in early if p.expands),
                assigned={name: tuple(p for word in words for p in word.pieces) for name, words in own.items()},
                statement=held.statement,
                in_quotes="wrap" in given,
            )
            extra = {**part.extra, "submitted": outside}
            self.parts[at] = msgspec.structs.replace(part, extra=extra)

    def _launch(
        self, words: list[Word], index: int, local: tuple[Word, ...], wrappers: list[ConfigPart], command: ShellCommand
    ) -> None:
        everything = (*self.wrappers, *wrappers)
        name, skip = launcher_of([word.text for word in words[index:]], wrapped=bool(everything))
        if not name:
            return
        begin, stop = command.span
        line = words[index].line if not local else local[0].line
        if not self.text.line(begin) <= line <= self.text.line(stop):
            line = self.text.line(begin)  # the word comes from a variable that was given its value elsewhere
        part, end = options_of(self.source, name, words, index + skip, line)
        rest = tuple(as_item(word) for word in words[end : end + _MAX_REST])
        if name == "python" and not (rest and (rest[0].text.endswith(".py") or words[index + skip - 1].text == "-m")):
            return
        extra: dict[str, Any] = {
            **part.extra,
            "assigned": {n: held_by(v) for n, v in self.values.known.items()},
            "exported": frozenset(n for n, v in self.values.known.items() if v.exported),
            "inner": self.scope == "task",
            "per_task": dict(self.per_task),
            "script": self.script,
            "block": bool(self.blocks),
            "loop": bool(self.loops),
            "background": command.operator == "&",
            "waits": self.waits,
            "chained": tuple(tuple(word.text for word in one.words) for one in self.chained),
            "line": LaunchLine(
                head=(*local, *words[:index]),
                launcher=tuple(words[index : index + skip]),
                options=tuple(words[index + skip : end]),
                rest=tuple(words[end : end + _MAX_REST]),
                outer=self.outer,
                before=tuple(self.text.pieces(0, begin)) if self.outer else (),
                after=tuple(self.text.pieces(stop, len(self.text.chars))) if self.outer else (),
            ),
        }
        self.parts.append(msgspec.structs.replace(part, words=rest, wrappers=everything, extra=extra))
