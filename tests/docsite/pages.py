"""Reads built pages: their ids, links, headings and resources."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset({"meta", "link", "br", "hr", "img", "input", "col", "rect", "path", "circle", "line"})


@dataclass
class Read(HTMLParser):
    """What one page holds."""

    path: str
    html: str
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    resources: list[str] = field(default_factory=list)
    headings: list[int] = field(default_factory=list)
    alternates: dict[str, str] = field(default_factory=dict)
    attributes: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    crossed: list[str] = field(default_factory=list)
    """End tags that close nothing, or something else than was opened last."""
    lang: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what matters of an element."""
        given = {name: value or "" for name, value in attrs}
        self.attributes += [name for name, _ in attrs]
        if tag == "html":
            self.lang = given.get("lang", "")
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link":
            if given.get("rel") == "alternate" and "hreflang" in given:
                self.alternates[given["hreflang"]] = given["href"]
            elif given.get("rel") != "canonical":
                self.resources.append(given["href"])
        if "src" in given:
            self.resources.append(given["src"])
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Check that elements are closed in order."""
        if self.open and self.open[-1] == tag:
            self.open.pop()
        elif tag not in VOID:
            self.crossed.append(f"</{tag}> inside <{self.open[-1] if self.open else 'nothing'}>")

    def target(self, link: str) -> tuple[str, str]:
        """Return the path of the site, and the fragment, that a link of this page leads to."""
        address, _, fragment = link.partition("#")
        where = posixpath.normpath(posixpath.join(posixpath.dirname(self.path), address)) if address else self.path
        return where, fragment
