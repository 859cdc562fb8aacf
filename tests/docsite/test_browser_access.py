"""Every page, in both themes and on phone and desktop, judged by axe-core in a real browser."""

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
SHARDS = 8
"""Parts into which the pages are divided, so that all processes have something to do until the end."""
TREE = int(os.environ.get("DISTKB_TEST_ALIKE", "12"))
"""Pages of one kind that are all made alike, of which about this many are judged in each language; 1000 takes all."""
ALIKE = ("tree/", "m/")
"""Folders of such pages."""
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
    page.set_viewport_size({"width": NARROW, "height": 256})
    if wide := page.evaluate(TOO_WIDE):
        found.add(f"{NARROW} px: scrolls sideways because of {', '.join(wide)}")
    return found


@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_page_has_a_barrier(site: Site, open_page: Callable[..., Page], shard: int) -> None:
    """WCAG 2.2 AA and axe's best practices hold, light and dark, 360 and 1280 px wide; nothing is too wide at 400 %."""
    page = open_page()
    wrong: dict[str, Any] = {}
    for path in chosen(site)[shard::SHARDS]:
        page.goto(site.url(path))
        open_folds(page)
        if found := violations(page):
            wrong[path] = sorted(found)
    assert wrong == {}


def test_the_judge_sees_a_fault(site: Site, page: Page) -> None:
    """Faint text in the dark theme is found: the check above does judge colours."""
    page.goto(site.url("en/about.html"))
    page.evaluate("document.documentElement.style.setProperty('--text', '#777')")
    assert any(re.match(r"dark, 360 px: color-contrast", one) for one in violations(page))
