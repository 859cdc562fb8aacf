"""Guides as HTML: CommonMark with tables, no raw HTML, anchors that both languages share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from distkb.docsite.text import Writer

if TYPE_CHECKING:
    from markdown_it.token import Token


def render(body: str, write: Writer, title: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the HTML of a guide's body, and anchor and text of its second-level headings.

    Anchors count headings (`s-3`), so that they are the same in both languages; scrolling tables can be focused.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(body)
    contents: list[tuple[str, str]] = []
    tables: list[str] = []
    heading = title
    number = 0
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            number += 1
            token.attrSet("id", f"s-{number}")
            heading = _plain(tokens[index + 1])
            if token.tag == "h2":
                contents.append((f"s-{number}", heading))
        elif token.type == "table_open":
            before = sum(label.startswith(heading) for label in tables)
            tables.append(f"{heading} ({before + 1})" if before else heading)
        elif token.type == "inline":
            _link_entries(token, write)
        elif token.type == "fence":
            token.attrSet("translate", "no")
    html = parser.renderer.render(tokens, parser.options, {})
    for label in tables:
        wrapper = f'<section class="wide" tabindex="0" aria-label="{_attribute(label)}"><table >'
        html = html.replace("<table>", wrapper, 1)
    html = html.replace("<table >", "<table>").replace("</table>", "</table></section>")
    html = html.replace("<pre>", '<pre tabindex="0">')
    return html.replace("<code>", '<code translate="no">'), contents


def _attribute(text: str) -> str:
    import html

    return html.escape(text, quote=True)


def _plain(inline: Token) -> str:
    return "".join(child.content for child in inline.children or () if child.type in ("text", "code_inline"))


def _link_entries(inline: Token, write: Writer) -> None:
    """Turn ids of entries in running text into links; inside a link or code they stay as they are."""
    from markdown_it.token import Token as New

    children: Sequence[Token] = inline.children or ()
    out: list[Token] = []
    depth = 0
    for child in children:
        if child.type in ("link_open", "link_close"):
            depth += 1 if child.type == "link_open" else -1
        if child.type == "text" and not depth:
            linked = write.link(child.content)
            if "<a " in linked:
                raw = New("html_inline", "", 0)
                raw.content = linked
                out.append(raw)
                continue
        out.append(child)
    inline.children = out
