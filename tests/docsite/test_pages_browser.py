"""The tree without scripts, the buttons of the index by symptom, and pages on paper, in a real Chromium."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from browser import Site
    from playwright.sync_api import Page

pytest_plugins = ("browser",)
pytestmark = pytest.mark.browser

SHEETS = 4
"""A4 pages of a printed entry."""
LONGEST = 8
"""So many entries are printed: those whose pages are the longest."""
CLIPPED = "[...document.querySelectorAll('pre')].filter(one => one.scrollWidth > one.clientWidth + 1).length"
SHOWN = "section[data-symptom]:visible li:visible"
PRESSED = "facets => facets.querySelector('[aria-pressed=true]').dataset.value"


def test_the_tree_leads_to_a_fix_without_scripts(site: Site, open_page: Callable[..., Page]) -> None:
    """From the home page plain links lead through questions to a fix; back leads to the question before."""
    page = open_page(java_script_enabled=False, viewport={"width": 360, "height": 740})
    page.goto(site.url("ko/index.html"))
    page.click("main a[href='tree/index.html']")
    asked = 0
    while page.locator(".answers").count():
        asked += 1
        page.locator(".answers a").first.click()
    assert asked >= 2
    page.click(".turn a[rel=prev]")
    assert page.locator(".answers").count() == 1
    page.locator(".answers a").first.click()
    fix = page.locator(".causes ul a").last
    fragment = urlsplit(fix.get_attribute("href") or "").fragment
    fix.click()
    assert re.fullmatch(r"[A-Z]+\d+\.[a-z](\.\d+)?", fragment)
    assert page.locator(f"[id='{fragment}']").is_visible()


def test_the_index_is_narrowed_by_buttons(served: Site, page: Page) -> None:
    """A button leaves the entries that fit, says so, and writes itself into the address, which brings it back."""
    page.goto(served.url("en/symptoms.html"))
    every = page.locator(SHOWN).count()
    page.click(".facets summary")
    button = page.locator("[data-facet=launcher][data-value=slurm]")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert urlsplit(page.url).query == "launcher=slurm"
    narrowed = page.locator(SHOWN).count()
    assert 0 < narrowed < every
    assert "slurm" in (page.locator(SHOWN).first.get_attribute("data-launcher") or "")
    assert re.match(r"\d+ ", page.inner_text(".facets-count"))
    page.reload()
    assert page.locator(SHOWN).count() == narrowed
    assert page.eval_on_selector(".facets", PRESSED) == "slurm"
    page.locator("[data-facet=launcher][data-value=slurm]").click()
    assert page.locator(SHOWN).count() == every
    assert urlsplit(page.url).query == ""


def test_the_buttons_work_from_a_file(site: Site, page: Page) -> None:
    """Opened from disk, where an address cannot be rewritten everywhere, the buttons narrow the index as well."""
    page.goto(site.url("ko/symptoms.html"))
    every = page.locator(SHOWN).count()
    page.click(".facets summary")
    page.click("[data-facet=symptom][data-value=oom]")
    assert page.locator("section[data-symptom]:visible").count() == 1
    assert page.locator(SHOWN).count() < every


@pytest.mark.timeout(300)
def test_an_entry_fits_on_paper(site: Site, open_page: Callable[..., Page]) -> None:
    """The longest entries take at most four sheets, in either language, and no code is cut off."""
    page = open_page(color_scheme="dark", viewport={"width": 700, "height": 1000})
    for lang in ("en", "ko"):
        paths = sorted((site.root / lang / "e").glob("*.html"), key=lambda path: -path.stat().st_size)
        for path in paths[:LONGEST]:
            page.goto(site.url(f"{lang}/e/{path.name}"))
            page.emulate_media(media="print")
            assert page.evaluate(CLIPPED) == 0, path.name
            sheets = len(re.findall(rb"/Type\s*/Page[^s]", page.pdf(prefer_css_page_size=True)))
            assert sheets <= SHEETS, (lang, path.name)


def test_a_family_prints_whole(site: Site, page: Page) -> None:
    """The page of a family starts each entry on a sheet of its own and keeps all code inside it."""
    page.goto(site.url("en/families/numerics-print.html"))
    page.emulate_media(media="print")
    entries = page.locator(".printed").count()
    assert entries >= 3
    assert page.evaluate(CLIPPED) == 0
    assert len(re.findall(rb"/Type\s*/Page[^s]", page.pdf(prefer_css_page_size=True))) > entries
