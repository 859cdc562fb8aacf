"""The screen of a guide: Markdown laid out for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distkb.report.layout import clean, pad, width
from distkb.report.page import Ink, Page, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it.token import Token

    from distkb.catalogue.guide import GuideText
    from distkb.locale import Say


def write(guide: GuideText, say: Say, columns: int = 80, ink: Ink = plain) -> str:
    """Return the whole guide in one language."""
    from markdown_it import MarkdownIt

    page = Page(columns, ink)
    page.title(f"{guide.id}  {say.text(guide.title)}")
    page.blank()
    tokens = MarkdownIt("commonmark", {"html": False}).enable("table").parse(say.text(guide.body))
    _Layout(page, tokens).run()
    return page.text()


class _Layout:
    """Walks the tokens of a document and adds them to a page."""

    def __init__(self, page: Page, tokens: Sequence[Token]) -> None:
        self._page = page
        self._tokens = tokens
        self._lists: list[int | None] = []
        """Number of the next item of each open list; None for bullets."""
        self._marked = False
        """Whether the open item's mark is still to be written."""

    def run(self) -> None:
        """Add everything."""
        rows: list[list[str]] = []
        for index, token in enumerate(self._tokens):
            if token.type == "heading_open":
                mark = "#" * int(token.tag[1:]) + " "
                self._page.heading(mark + _words(self._tokens[index + 1]))
            elif token.type == "paragraph_open":
                self._paragraph(_words(self._tokens[index + 1]))
            elif token.type in ("fence", "code_block"):
                self._code(token.content)
            elif token.type in ("bullet_list_open", "ordered_list_open"):
                start = int(token.attrGet("start") or 1)
                self._lists.append(start if token.type.startswith("ordered") else None)
            elif token.type in ("bullet_list_close", "ordered_list_close"):
                self._lists.pop()
                if not self._lists:
                    self._page.blank()
            elif token.type == "list_item_open":
                self._marked = True
            elif token.type == "tr_open":
                rows.append([])
            elif token.type in ("th_open", "td_open"):
                rows[-1].append(_words(self._tokens[index + 1]))
            elif token.type == "table_close":
                self._table(rows)
                rows = []
            elif token.type == "hr":
                self._page.blank()

    def _paragraph(self, text: str) -> None:
        if not self._lists:
            self._page.paragraph(text, indent="")
            self._page.blank()
            return
        indent = "  " * len(self._lists)
        if not self._marked:
            self._page.paragraph(text, indent=f"{indent}  ")
            return
        self._marked = False
        number = self._lists[-1]
        if number is not None:
            self._lists[-1] = number + 1
        self._page.item("-" if number is None else f"{number}.", text, indent)

    def _code(self, content: str) -> None:
        indent = "  " * (len(self._lists) + 1)
        for line in content.rstrip("\n").split("\n"):
            self._page.line(clean(line), indent, "code")
        self._page.blank()

    def _table(self, rows: Sequence[Sequence[str]]) -> None:
        """Add a table: as columns where all fit, else each row as a small list under its first cell."""
        if not rows:
            return
        count = max(len(row) for row in rows)
        widths = [max(width(row[i]) for row in rows if i < len(row)) for i in range(count)]
        if sum(widths) + 2 * count <= self._page.columns:
            for row in rows:
                self._page.line("  ".join(pad(cell, widths[i]) for i, cell in enumerate(row)).rstrip(), "  ")
        else:
            head, *body = rows
            for row in body:
                self._page.item("-", row[0])
                for name, cell in zip(head[1:], row[1:], strict=False):
                    if cell:
                        self._page.paragraph(f"{name}: {cell}", indent="      ")
        self._page.blank()


def _words(inline: Token) -> str:
    return " ".join("".join(_pieces(inline.children or ())).split())


def _pieces(children: Sequence[Token]) -> Iterator[str]:
    """Yield the text of a line: code keeps its marks, a link its address where that says something."""
    target = ""
    for token in children:
        if token.type == "text":
            yield clean(token.content)
        elif token.type == "code_inline":
            yield f"`{clean(token.content)}`"
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type == "link_open":
            target = str(token.attrGet("href") or "")
        elif token.type == "link_close" and target.startswith("http"):
            yield f" ({clean(target)})"
