"""Every element of the site, in both themes and on phone and desktop, judged by axe-core in a real browser."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import groupby
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from site_tools import tool

if TYPE_CHECKING:
    from browser import Site
    from playwright.sync_api import Page

pytest_plugins = ("browser",)
pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

LANGUAGES = ("en", "ko")
SHARDS = 2
"""Parts into which the pages are divided, so that all processes have something to do until the end."""
TREE = int(os.environ.get("DISTKB_TEST_ALIKE", "12"))
"""Pages of one kind that are all made alike, of which about this many are judged in each language; 1000 takes all."""
ALIKE = ("tree/", "m/")
"""Folders of such pages."""
VOID = frozenset(
    [
        "meta",
        "link",
        "br",
        "img",
        "input",
        "hr",
        "path",
        "rect",
        "line",
        "circle",
        "use",
        "source",
        "wbr",
        "col",
        "polygon",
        "polyline",
    ]
)
"""Elements that hold none."""
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
COLOURS = ("color-contrast", "link-in-text-block")
"""The rules that depend on the theme: the others have judged both when they have judged one."""
WIDTHS = (1280, 360)

NARROW = 320
"""A window of 1280 pixels at 400 %."""

TOO_WIDE = """
() => {
  const room = document.scrollingElement.clientWidth;
  if (document.scrollingElement.scrollWidth <= room) return [];
  return [...document.querySelectorAll("main *, header *, footer *")]
    .filter((one) => one.getBoundingClientRect().right > room + 1)
    .slice(0, 3).map((one) => `${one.tagName}.${one.className} ${one.textContent.slice(0, 40)}`);
}
"""

RUN = """
async ([type, values]) => {
  const options = { runOnly: { type, values }, resultTypes: ["violations"], preload: false };
  const result = await axe.run(document, options);
  return result.violations.flatMap((rule) => rule.nodes.map(
    (node) => `${rule.id} at ${node.target.join(" ")}: ${node.failureSummary.replace(/\\s+/g, " ")}`));
}
"""


def chosen(site: Site) -> list[str]:
    """Every page in one of its languages, each language half of them; of very many that are alike only some, evenly."""

    def kind(path: str) -> str:
        return next((f"{path[:3]}{folder}" for folder in ALIKE if path[3:].startswith(folder)), "")

    out: list[str] = []
    for name, group in groupby(sorted(site.pages, key=kind), key=kind):
        paths = list(group)
        out += paths[:: max(1, len(paths) // TREE)] if name else filter(is_its_turn, paths)
    return out


def judged(site: Site) -> list[str]:
    """Pages that together hold every element of the site inside every element that it stands in; all with ALIKE=1000.

    Words differ elsewhere, and what axe says of an element goes with its tag, class and place. Widths go with words,
    so that those are measured on all chosen pages.
    """
    if TREE >= 1000:
        return chosen(site)
    shapes = {path: shape((site.root / path).read_text(encoding="utf-8")) for path in site.pages}
    left = set[tuple[str, str]]().union(*shapes.values())
    out: list[str] = []
    while left:
        out.append(max(shapes, key=lambda path: len(shapes[path] & left)))
        left -= shapes[out[-1]]
    return out


def shape(markup: str) -> set[tuple[str, str]]:
    """Which elements stand in which on a page, by tag, class and role."""
    found: set[tuple[str, str]] = set()
    inside: list[str] = []
    for close, tag, rest in re.findall(r"<(/?)([a-z][a-z0-9-]*)([^<>]*)>", markup):
        if close:
            while inside and inside.pop().partition(" ")[0] != tag:
                pass
            continue
        own = " ".join([tag, *re.findall(r'(?:class|role)="[^"]*"', rest)])
        found.add((inside[-1] if inside else "", own))
        if tag not in VOID:
            inside.append(own)
    return found


def is_its_turn(path: str) -> bool:
    """Whether a page is judged in this language: what differs between the two is words, not structure."""
    language, _, rest = path.partition("/")
    return language not in LANGUAGES or LANGUAGES[crc32(rest.encode()) % len(LANGUAGES)] == language


def open_folds(page: Page) -> None:
    """Show what is folded, so that it is judged too."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


def violations(page: Page) -> set[str]:
    """Return what axe says of the page that is open, in both themes and at both widths."""
    page.evaluate(tool("axe-core/axe.min.js").read_text(encoding="utf-8"))
    found: set[str] = set()
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        # further down, axe counts a button that the sticky header is just over as one too small to press
        page.evaluate("scrollTo(0, 0)")
        for theme, question in (("light", ["tag", TAGS]), ("dark", ["rule", COLOURS])):
            page.emulate_media(color_scheme=theme)  # type: ignore[arg-type] # one of the two that it knows
            found |= {f"{theme}, {width} px: {one}" for one in page.evaluate(RUN, question)}
    return found


@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_page_has_a_barrier(site: Site, open_page: Callable[..., Page], shard: int) -> None:
    """WCAG 2.2 AA and axe's best practices hold, light and dark, 360 and 1280 px wide."""
    page = open_page()
    wrong: dict[str, Any] = {}
    for path in judged(site)[shard::SHARDS]:
        page.goto(site.url(path))
        open_folds(page)
        if found := violations(page):
            wrong[path] = sorted(found)
    assert wrong == {}


@pytest.mark.parametrize("shard", range(2))
def test_no_page_scrolls_sideways(site: Site, open_page: Callable[..., Page], shard: int) -> None:
    """Nothing is too wide for a window of 1280 pixels at 400 %, whatever is folded."""
    page = open_page()
    page.set_viewport_size({"width": NARROW, "height": 256})
    wrong: dict[str, Any] = {}
    for path in chosen(site)[shard::2]:
        page.goto(site.url(path))
        open_folds(page)
        if wide := page.evaluate(TOO_WIDE):
            wrong[path] = wide
    assert wrong == {}


def test_the_judge_sees_a_fault(site: Site, page: Page) -> None:
    """Faint text in the dark theme is found: the check above does judge colours."""
    page.goto(site.url("en/about.html"))
    page.evaluate("document.documentElement.style.setProperty('--text', '#777')")
    assert any(re.match(r"dark, 360 px: color-contrast", one) for one in violations(page))
