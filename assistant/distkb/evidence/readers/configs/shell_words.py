"""Splits shell text into commands and words as a shell does, and keeps apart what is written and what a shell puts in.

Nothing is expanded and nothing is run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

import msgspec

NAME = re.compile(r"[A-Za-z_]\w*")
_DOLLAR = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!-])")
_OPERATORS = ("&&", "||", ";;", "|&", ";", "|", "&", "(", ")")
_REDIRECTION = re.compile(r"\d{0,4}(?:>>|>&|>\||<&|<>|&>>|&>|>|<)")
_HEREDOC = re.compile(r"\d{0,4}<<(-?)(?!<)")
_CLOSES = {"(": ")", "{": "}"}
_MAX_COMMAND = 20_000
"""Characters of one command; what is longer is no command that a person wrote."""
_MAX_WORDS = 2_000


class WordPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a word."""

    text: str
    """What is written, or the expansion as it is written: `$SLURM_NODEID`, `$(hostname)`."""
    line: int
    expands: bool = False
    """Whether a shell puts something in its place."""
    quoted: bool = False
    scope: str = ""
    """Which shell puts it in: that of the login node, of the batch script, or of each task."""
    lost: bool = False
    """Whether it names a variable of the shell outside that was not exported."""
    stands_for: tuple[WordPart, ...] = ()
    """What a variable was given, where that is known and not known as plain text."""

    def all(self) -> Iterator[WordPart]:
        """Yield the piece and everything that it stands for."""
        yield self
        for piece in self.stands_for:
            yield from piece.all()


class Word(msgspec.Struct, frozen=True, kw_only=True):
    """One word of a command."""

    pieces: tuple[WordPart, ...]
    line: int
    items: tuple[Word, ...] | None = None
    """The words of `NAME=(…)`."""

    @property
    def text(self) -> str:
        """The word without its quotes, expansions as they are written."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def is_plain(self) -> bool:
        """Whether the word is known without running anything."""
        return not any(piece.expands for piece in self.pieces)

    @property
    def shown(self) -> str:
        """The word as it can be typed again with the same meaning."""
        if not any(piece.quoted for piece in self.pieces):
            return self.text
        if self.is_plain:
            return shlex.quote(self.text)
        return '"' + "".join(p.text if p.expands else in_quotes(p.text) for p in self.pieces) + '"'


def in_quotes(text: str) -> str:
    """Return text as it stands between double quotes."""
    return re.sub(r'([\\"$`])', r"\\\1", text)


class Heredoc(msgspec.Struct, frozen=True, kw_only=True):
    """The lines that a command reads from the script itself."""

    pieces: tuple[WordPart, ...]
    """One literal piece where its mark is quoted, as nothing is expanded then."""
    end: int
    """Where its text goes on behind the mark."""


class ShellCommand(msgspec.Struct, frozen=True, kw_only=True):
    """The words between two operators."""

    words: tuple[Word, ...]
    heredoc: Heredoc | None = None
    into: str = ""
    """File that its output is written to."""
    piped: bool = False
    """Whether its output is the input of the next command."""
    operator: str = ""
    """What stands behind it: a line's end, `;`, `&&`, `&`."""
    span: tuple[int, int] = (0, 0)
    """Where it begins and ends in its text."""


class Text:
    """Shell text with the line of every character; what another shell has put in already is one character."""

    def __init__(self, pieces: Sequence[WordPart]) -> None:
        self.opaque: dict[int, WordPart] = {}
        self.lines: list[int] = []
        chars: list[str] = []
        for piece in pieces:
            if piece.expands:
                self.opaque[len(chars)] = piece
                chars.append("\ue000")
                self.lines.append(piece.line)
                continue
            line = piece.line
            for sign in piece.text:
                chars.append(sign)
                self.lines.append(line)
                line += sign == "\n"
        self.chars = "".join(chars)
        self.unclosed: set[str] = set()

    def pieces(self, begin: int, end: int) -> Iterator[WordPart]:
        """Yield what stands between two places."""
        while begin < end:
            known = self.opaque.get(begin)
            if known is not None:
                yield known
                begin += 1
                continue
            stop = min((at for at in self.opaque if begin < at < end), default=end)
            yield WordPart(text=self.chars[begin:stop], line=self.line(begin))
            begin = stop

    def line(self, at: int) -> int:
        """Return the line on which a character stands."""
        return self.lines[min(at, len(self.lines) - 1)] if self.lines else 1

    def close(self, at: int, closing: str) -> int:
        """Return where what opens before `at` is closed, or -1; quotes and brackets inside it are skipped."""
        if closing in self.unclosed:
            return -1
        stack, text, end = [closing], self.chars, min(len(self.chars), at + _MAX_COMMAND)
        while at < end:
            sign, top = text[at], stack[-1]
            if top == "'":
                at = text.find("'", at)
                if at < 0:
                    break
                stack.pop()
            elif sign == "\\":
                at += 1
            elif sign == top:
                stack.pop()
                if not stack:
                    return at
            elif sign in '"`' or (sign == "'" and '"' not in stack[-1:]):
                stack.append(sign)
            elif text.startswith(("$(", "${"), at):
                stack.append(_CLOSES[text[at + 1]])
                at += 1
            elif sign == "(" and top == ")":
                stack.append(")")
            at += 1
        self.unclosed.add(closing)
        return -1


def commands(text: Text) -> Iterator[ShellCommand]:
    """Yield the commands of a text in the order in which they stand there; keywords are words of their own."""
    yield from _Lexer(text).commands()


class _Lexer:
    def __init__(self, text: Text) -> None:
        self.text = text
        self.chars = text.chars
        self.at = 0
        self.waiting: list[tuple[str, bool, bool]] = []
        """Marks of heredocs whose lines come after this line: mark, quoted, tabs removed."""
        self.heredocs: list[Heredoc] = []

    def commands(self) -> Iterator[ShellCommand]:
        held: list[tuple[ShellCommand, int]] = []
        while self.at < len(self.chars):
            command, marks, operator = self._command()
            if command.words or marks:
                held.append((command, marks))
            if operator != "\n" and self.at < len(self.chars):
                continue
            yield from self._released(held)
            held = []
        yield from self._released(held)

    def _released(self, held: list[tuple[ShellCommand, int]]) -> Iterator[ShellCommand]:
        """Give every command of a line its heredoc, whose lines stand below that line."""
        bodies, self.heredocs = self.heredocs, []
        for command, marks in held:
            heredoc = bodies[marks - 1] if 0 < marks <= len(bodies) else None
            bodies = bodies[marks:]
            yield msgspec.structs.replace(command, heredoc=heredoc)

    def _command(self) -> tuple[ShellCommand, int, str]:
        """Take one command; return it with the number of its heredocs and the operator behind it."""
        words: list[Word] = []
        marks, into, begin, end, operator = 0, "", self.at, self.at, "\n"
        while self.at < len(self.chars):
            sign = self.chars[self.at]
            if sign == "\n":
                self.at += 1
                self._read_heredocs()
                break
            if sign in " \t\r":
                self.at += 1
            elif self.chars.startswith("\\\n", self.at):
                self.at += 2
            elif sign == "#":
                self.at = self._until_line_end()
            elif heredoc := _HEREDOC.match(self.chars, self.at):
                self.at = heredoc.end()
                marks += self._mark(tabs=bool(heredoc[1]))
            elif found := _REDIRECTION.match(self.chars, self.at):
                self.at = found.end()
                target = self._target(found[0])
                into = target if ">" in found[0] and "2" not in found[0] and target else into
            elif sign in ";|&()":
                operator = next(o for o in _OPERATORS if self.chars.startswith(o, self.at))
                self.at += len(operator)
                break
            else:
                begin = begin if words else self.at
                words.append(self._word())
                end = self.at
                if len(words) > _MAX_WORDS or self.at - begin > _MAX_COMMAND:
                    operator = ";"
                    break
        piped = operator in ("|", "|&")
        span = (begin, end)
        return ShellCommand(words=tuple(words), into=into, piped=piped, operator=operator, span=span), marks, operator

    def _until_line_end(self) -> int:
        end = self.chars.find("\n", self.at)
        return len(self.chars) if end < 0 else end

    def _target(self, redirection: str) -> str:
        while self.at < len(self.chars) and self.chars[self.at] in " \t":
            self.at += 1
        if redirection == "<" and self.chars.startswith("(", self.at):
            return ""
        return self._word().text if self.at < len(self.chars) and self.chars[self.at] not in "\n;|&<>()" else ""

    def _mark(self, *, tabs: bool) -> int:
        while self.at < len(self.chars) and self.chars[self.at] in " \t":
            self.at += 1
        begin = self.at
        mark = self._word()
        quoted = any(sign in "'\"\\" for sign in self.chars[begin : self.at])
        self.waiting.append((mark.text, quoted, tabs))
        return 1

    def _read_heredocs(self) -> None:
        for mark, quoted, tabs in self.waiting:
            begin, end, after = self.at, len(self.chars), len(self.chars)
            at = self.at
            while at < len(self.chars):
                stop = self.chars.find("\n", at)
                stop = len(self.chars) if stop < 0 else stop
                line = self.chars[at:stop].rstrip("\r")
                if (line.lstrip("\t") if tabs else line) == mark:
                    end, after = at, stop + 1
                    break
                at = stop + 1
            self.at = min(after, len(self.chars))
            pieces = [WordPart(text=self.chars[begin:end], line=self.text.line(begin))] if quoted else []
            self.heredocs.append(Heredoc(pieces=tuple(pieces or self._interpolated(begin, end)), end=self.at))
        self.waiting = []

    def _interpolated(self, begin: int, end: int) -> list[WordPart]:
        pieces: list[WordPart] = []
        at = begin
        while at < end:
            at = self._inside(at, end, pieces, "\\$`\n")
        return pieces

    def _inside(self, at: int, end: int, pieces: list[WordPart], escaped: str) -> int:
        """Take one expansion, or the text up to the next, in a place where quotes mean nothing."""
        sign = self.chars[at]
        if sign == "\\" and at + 1 < end and self.chars[at + 1] in escaped:
            if self.chars[at + 1] != "\n":
                _add(pieces, self.chars[at + 1], self.text.line(at), quoted=True)
            return at + 2
        expansion = self._expansion(at)
        if expansion:
            pieces.append(self._piece(at, expansion, quoted=True))
            return expansion
        stop = at + 1
        while stop < end and self.chars[stop] not in '\\$`"\ue000':
            stop += 1
        _add(pieces, self.chars[at:stop], self.text.line(at), quoted=True)
        return stop

    def _piece(self, at: int, end: int, *, quoted: bool) -> WordPart:
        known = self.text.opaque.get(at)
        if known is not None:
            return known
        return WordPart(text=self.chars[at:end], line=self.text.line(at), expands=True, quoted=quoted)

    def _expansion(self, at: int) -> int:
        """Return where an expansion that begins here ends; 0 where none begins."""
        sign = self.chars[at]
        if sign == "\ue000" and at in self.text.opaque:
            return at + 1
        if sign == "`":
            return self.text.close(at + 1, "`") + 1
        if sign != "$":
            return 0
        if self.chars.startswith(("$(", "${"), at):
            return self.text.close(at + 2, _CLOSES[self.chars[at + 1]]) + 1
        found = _DOLLAR.match(self.chars, at)
        return found.end() if found else 0

    def _word(self) -> Word:
        pieces: list[WordPart] = []
        begin = self.at
        items: tuple[Word, ...] | None = None
        while self.at < len(self.chars):
            sign = self.chars[self.at]
            if sign in " \t\r\n;|&<>)":
                break
            if sign == "(":
                if not self.chars[begin : self.at].endswith("="):
                    break
                self.at += 1
                items = self._array()
            elif sign == "'":
                end = self.chars.find("'", self.at + 1)
                end = len(self.chars) if end < 0 else end
                _add(pieces, self.chars[self.at + 1 : end], self.text.line(self.at + 1), quoted=True)
                self.at = end + 1
            elif sign == '"':
                self._double(pieces)
            elif sign == "\\":
                if not self.chars.startswith("\\\n", self.at):
                    _add(pieces, self.chars[self.at + 1 : self.at + 2], self.text.line(self.at), quoted=True)
                self.at += 2
            elif end := self._expansion(self.at):
                pieces.append(self._piece(self.at, end, quoted=False))
                self.at = end
            else:
                stop = self.at + 1
                while stop < len(self.chars) and self.chars[stop] not in " \t\r\n;|&<>()'\"\\$`\ue000":
                    stop += 1
                _add(pieces, self.chars[self.at : stop], self.text.line(self.at), quoted=False)
                self.at = stop
        self.at = max(self.at, begin + 1)
        return Word(pieces=tuple(pieces), line=self.text.line(begin), items=items)

    def _double(self, pieces: list[WordPart]) -> None:
        """Take what stands in double quotes."""
        self.at += 1
        size = len(pieces)
        while self.at < len(self.chars) and self.chars[self.at] != '"':
            self.at = self._inside(self.at, len(self.chars), pieces, '\\$`"\n')
        if len(pieces) == size:
            pieces.append(WordPart(text="", line=self.text.line(self.at), quoted=True))
        self.at += 1

    def _array(self) -> tuple[Word, ...]:
        words: list[Word] = []
        while self.at < len(self.chars) and self.chars[self.at] != ")":
            sign = self.chars[self.at]
            if sign in " \t\r\n":
                self.at += 1
            elif self.chars.startswith("\\\n", self.at):
                self.at += 2
            elif sign == "#":
                self.at = self._until_line_end()
            elif len(words) < _MAX_WORDS:
                words.append(self._word())
            else:
                break
        self.at += 1
        return tuple(words)


def _add(pieces: list[WordPart], text: str, line: int, *, quoted: bool) -> None:
    """Add written text, with a piece of its own for each line."""
    for part in text.splitlines(keepends=True) or [text]:
        last = pieces[-1] if pieces else None
        joins = last is not None and not last.expands and last.quoted == quoted and last.line == line
        if joins and last is not None and not last.text.endswith("\n"):
            pieces[-1] = msgspec.structs.replace(last, text=last.text + part)
        else:
            pieces.append(WordPart(text=part, line=line, quoted=quoted))
        line += part.endswith("\n")
