"""A page of the program's answers as elements of a browser, in place of lines of a terminal.

An element is a list: its tag, its classes, then its children, which are texts or elements. A script makes nodes of it,
so that no text of a log can ever become markup.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from distkb.catalogue.model import CodeChange
from distkb.report.layout import clean
from distkb.report.marks import ID, marked
from distkb.report.page import Page, Role, unified

Element = list[Any]
"""Tag, classes, children."""
_COLUMNS = 10_000
"""Nothing is cut for want of room: a browser wraps."""
_STEP = 2
"""Blanks of one step to the right."""


def inline(text: str, entries: Collection[str]) -> list[Any]:
    """Return a text as children: what is between backticks as code, ids of entries as links (`a`)."""
    tags = {"code": "code", "id": "a"}
    return [part if mark == "text" else [tags[mark], "", part] for mark, part in marked(text, entries) if part]


class ElementPage(Page):
    """Collects the elements of a page; what would be laid out in columns is left to the browser."""

    def __init__(self, entries: Collection[str]) -> None:
        super().__init__(_COLUMNS)
        self._entries = entries
        self.elements: list[Element] = []

    def blank(self) -> None:
        """Leave nothing: a browser has margins."""

    def title(self, text: str, first: str = "") -> None:
        """Add the sentence that the reader wants before all others."""
        self._put("p", "title", [*self._inline(first.strip()), " " if first else "", *self._inline(text)])

    def heading(self, text: str) -> None:
        """Begin a section."""
        self._put("h3", "", self._inline(text))

    def paragraph(self, text: str, indent: str = "  ", role: Role | None = None) -> None:
        """Add running text."""
        self._put("p", _classes(indent, role), self._inline(text))

    def item(self, mark: str, text: str, indent: str = "  ", role: Role | None = None) -> None:
        """Add running text behind a mark such as a number, an id or a dash."""
        mark = mark.strip()
        shown = self._inline(mark) if ID.fullmatch(mark) else [["b", "", mark]]
        self._put("p", f"item {_classes(indent, role)}", [*shown, " ", *self._inline(text)])

    def row(self, cells: Iterable[tuple[str, int]], text: str, indent: str = "") -> None:
        """Add cells and the text behind them."""
        self.item(" ".join(cell for cell, _ in cells), text, indent)

    def line(self, text: str, indent: str = "  ", role: Role | None = None) -> None:
        """Add one line as it stands, such as a path; an indent that holds words belongs to it."""
        self._put("p", f"line {_classes(indent, role)}", [f"{indent.strip()} {text}".strip()])

    def quote(self, text: str, indent: str) -> None:
        """Add words of the evidence, verbatim."""
        self._put("q", _classes(indent, None), [clean(text)])

    def command(self, command: str, indent: str = "  ") -> None:  # noqa: ARG002
        """Add a command to copy."""
        self._put("pre", "cmd", [command.rstrip("\n")])

    def change(self, change: CodeChange, indent: str = "  ") -> None:  # noqa: ARG002
        """Add a change of code: what goes (`del`), what comes (`ins`), and what stays."""
        tags = {"+": "ins", "-": "del"}
        lines = [([tags.get(line[:1], "span"), "", line], "\n") for line in unified(change)]
        self._put("pre", "diff", [part for pair in lines for part in pair])

    def _inline(self, text: str) -> list[Any]:
        return inline(text, self._entries)

    def _put(self, tag: str, classes: str, children: list[Any]) -> None:
        self.elements.append([tag, classes.strip(), *(child for child in children if child != "")])


def _classes(indent: str, role: Role | None) -> str:
    steps = 0 if indent.strip() else min(4, len(indent) // _STEP)
    return f"in{steps} {role or ''}".strip()
