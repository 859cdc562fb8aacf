"""A page of plain text under construction: headings, paragraphs, lists, quotes, commands and changes of code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

from distkb.report.layout import clean, cut, fold, pad, width, wrap

if TYPE_CHECKING:
    from distkb.catalogue.model import CodeChange

Role = Literal["title", "heading", "label", "faint", "good", "bad", "code"]
Ink = Callable[[str, Role], str]
"""Colours a piece of text by what it is; the words and marks alone carry the meaning."""

_QUOTE_LINES = 4
"""Lines that one quote takes at most."""
_FRAME = r'(File "[^"]+", line \d+, in \S+)\s+(\S.*)'


def plain(text: str, _role: Role) -> str:
    """Return `text` as it is: no colour."""
    return text


class Page:
    """Collects lines of at most `columns` display columns."""

    def __init__(self, columns: int = 80, ink: Ink = plain) -> None:
        self.columns = columns
        self._ink = ink
        self._lines: list[str] = []

    def text(self) -> str:
        """Return the page with one line break at its end."""
        return "\n".join(self._lines).rstrip("\n") + "\n"

    def blank(self) -> None:
        """Leave one empty line, never two."""
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def title(self, text: str, first: str = "") -> None:
        """Add the sentence that the reader wants before all others."""
        self._add(wrap(text, self.columns, first), "title")

    def heading(self, text: str) -> None:
        """Begin a section."""
        self.blank()
        self._add(wrap(text, self.columns), "heading")

    def paragraph(self, text: str, indent: str = "  ", role: Role | None = None) -> None:
        """Add running text."""
        self._add(wrap(text, self.columns, indent), role)

    def item(self, mark: str, text: str, indent: str = "  ", role: Role | None = None) -> None:
        """Add running text that hangs from a mark such as a number, an id or a dash."""
        self._add(wrap(text, self.columns, f"{indent}{mark} "), role)

    def row(self, cells: Iterable[tuple[str, int]], text: str, indent: str = "") -> None:
        """Add a table row: cells padded to their columns, then text that wraps under itself."""
        first = indent + "".join(pad(cell, columns) + "  " for cell, columns in cells)
        self._add(wrap(text, self.columns, first))

    def line(self, text: str, indent: str = "  ", role: Role | None = None) -> None:
        """Add one line that is never wrapped: a path is copied whole or not at all."""
        self._add([f"{indent}{text}"], role)

    def quote(self, text: str, indent: str) -> None:
        """Add words of the evidence, verbatim but for what a terminal would interpret.

        A frame of a traceback stands on two lines, as Python prints it.
        """
        room = max(20, self.columns - width(indent) - 2)
        text = clean(text)
        frame = re.match(_FRAME, text)
        pieces = [frame[1], f"  {cut(frame[2], room - 2)}"] if frame else fold(text, room, _QUOTE_LINES)
        self._add((f"{indent}| {piece}".rstrip() for piece in pieces), "faint")

    def command(self, command: str, indent: str = "  ") -> None:
        """Add a command to copy; it is never wrapped.

        One with a heredoc stands at the margin, as it has to be typed: behind blanks its mark would not end it.
        """
        if "<<" in command and "\n" in command:
            self._add(command.rstrip("\n").split("\n"), "code")
            return
        for number, line in enumerate(command.rstrip("\n").split("\n")):
            prompt = "  " if number or line.startswith("#") else "$ "
            self._add([f"{indent}{prompt}{line}"], "code")

    def change(self, change: CodeChange, indent: str = "  ") -> None:
        """Add a change of code as a unified diff."""
        for line in unified(change):
            role: Role | None = "good" if line.startswith("+") else "bad" if line.startswith("-") else None
            self._add([f"{indent}{line}".rstrip()], role)

    def _add(self, lines: Iterable[str], role: Role | None = None) -> None:
        self._lines.extend(self._ink(line, role) if role else line for line in lines)


def unified(change: CodeChange) -> list[str]:
    """Return the whole of both sides as one unified diff without file headers."""
    import difflib

    before, after = change.before.rstrip("\n").split("\n"), change.after.rstrip("\n").split("\n")
    diff = difflib.unified_diff(before, after, lineterm="", n=max(len(before), len(after)))
    return [line for line in diff if not line.startswith(("--- ", "+++ ", "@@ "))]
