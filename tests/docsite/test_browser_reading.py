"""The site in a real browser, opened from files: what a reader does with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from browser import Site
    from playwright.sync_api import Page

pytest_plugins = ("browser",)
pytestmark = pytest.mark.browser

PHONE = {"viewport": {"width": 360, "height": 740}}
ENTRY = "en/e/D21.html"

GROUND = "getComputedStyle(document.body).backgroundColor"
LIGHT = "rgb(255, 255, 255)"

FIRST_PAINT = """
requestAnimationFrame(() => { window.atFirst = document.body ? getComputedStyle(document.body).backgroundColor : ""; });
"""

AT_FIRST = "new Promise((done) => requestAnimationFrame(() => done(window.atFirst)))"

FOCUS = """
() => {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  const box = one.getBoundingClientRect();
  const style = getComputedStyle(one);
  const header = document.querySelector(".top");
  const covered = getComputedStyle(header).position === "sticky" && !header.contains(one)
    && !one.matches(".skip") && box.bottom <= header.getBoundingClientRect().bottom;
  return {
    what: `${one.tagName} ${one.className} ${(one.textContent || one.ariaLabel || "").trim().slice(0, 40)}`,
    key: [one.tagName, one.className, one.textContent, one.getAttribute("href"), box.top + scrollY, box.left].join("|"),
    ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    seen: box.bottom > 0 && box.top < innerHeight && box.right > 0 && !covered,
  };
}
"""


def walk(page: Page, limit: int) -> list[dict[str, Any]]:
    """Press Tab from the top until the focus leaves the page, and return every element that it stood on."""
    out: list[dict[str, Any]] = []
    for _ in range(limit):
        page.keyboard.press("Tab")
        found = page.evaluate(FOCUS)
        if found is None:
            return out
        out.append(found)
    raise AssertionError(f"the focus does not leave the page: {out[-4:]}")


def test_a_page_opens_from_its_file(site: Site, page: Page) -> None:
    """A page shows its heading, with nothing asked of the network and no error."""
    page.goto(site.url(ENTRY))
    assert "D21" in page.inner_text("h1")


def test_the_language_switch_keeps_the_place(site: Site, page: Page) -> None:
    """The other language opens at the same page, query and fragment, and back again."""
    page.goto(site.url(ENTRY, query="q=barrier", fragment="D21.b"))
    page.click("a.lang")
    page.wait_for_url(site.url("ko/e/D21.html", query="q=barrier", fragment="D21.b"))
    assert page.get_attribute("html", "lang") == "ko"
    page.click("a.lang")
    page.wait_for_url(site.url(ENTRY, query="q=barrier", fragment="D21.b"))


@pytest.mark.parametrize("system", ["light", "dark"])
def test_the_theme_is_the_systems_until_one_is_chosen(site: Site, open_page: Callable[..., Page], system: str) -> None:
    """The button turns the theme over, later pages keep it, and no page is first painted otherwise."""
    page = open_page(color_scheme=system)
    page.add_init_script(FIRST_PAINT)
    page.goto(site.url(ENTRY))
    assert (page.evaluate(GROUND) == LIGHT) == (system == "light")
    before = page.inner_text("button.theme")
    page.click("button.theme")
    assert (page.evaluate(GROUND) == LIGHT) == (system == "dark")
    assert page.inner_text("button.theme") != before
    chosen = page.evaluate(GROUND)
    for path in ("en/index.html", "ko/settings.html", ENTRY):
        page.goto(site.url(path))
        assert page.evaluate(AT_FIRST) in {chosen, ""}, path
        assert page.evaluate(GROUND) == chosen, path


def test_the_theme_is_set_before_the_body_exists(site: Site, page: Page) -> None:
    """A stored theme is on the root element when the parser reaches the body, so that nothing can be painted before."""
    page.goto(site.url(ENTRY))
    page.evaluate("localStorage.setItem('distkb-theme', 'dark')")
    page.add_init_script(
        """
        new MutationObserver((_, watcher) => {
          if (!document.body) return;
          window.themeAtBody = document.documentElement.dataset.theme;
          watcher.disconnect();
        }).observe(document, { childList: true, subtree: true });
        """
    )
    page.reload()
    assert page.evaluate("window.themeAtBody") == "dark"


@pytest.mark.parametrize("path", ["en/index.html", "ko/e/D21.html", "en/errors-hangs.html", "ko/guides/G1.html"])
def test_the_keyboard_reaches_everything(site: Site, page: Page, path: str) -> None:
    """Tab goes from the skip link through all that can be used and out again; what has the focus shows it."""
    page.goto(site.url(path))
    stops = walk(page, 700)
    assert "skip" in stops[0]["what"]
    assert [stop["what"] for stop in stops if not (stop["ring"] and stop["seen"])] == []
    keys = [stop["key"] for stop in stops]
    assert len(keys) == len(set(keys))
    links = page.evaluate("[...document.querySelectorAll('main a[href]')].filter((a) => a.checkVisibility()).length")
    assert sum(stop["what"].startswith("A ") for stop in stops) >= links


def test_the_skip_link_leads_to_the_text(site: Site, page: Page) -> None:
    """The first Tab shows the skip link; Enter puts the focus behind the navigation."""
    page.goto(site.url(ENTRY))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_a_copied_command_is_announced(site: Site, open_page: Callable[..., Page]) -> None:
    """The button copies the command alone, without a prompt, and a live region says so."""
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.goto(site.url(ENTRY))
    page.click(".side .copy")
    expect(page.locator(".said")).to_have_text("Copied")
    assert page.get_attribute(".said", "aria-live") == "polite"
    assert page.evaluate("navigator.clipboard.readText()") == "distkb show D21"
    expect(page.locator(".said")).to_have_text("")


def test_an_anchor_is_not_covered(site: Site, page: Page) -> None:
    """What a fragment leads to stands below the header that stays at the top."""
    page.goto(site.url(ENTRY, fragment="D21.c"))
    page.evaluate(AT_FIRST)
    assert page.evaluate("scrollY") > 0
    top, header = page.evaluate(
        "[document.getElementById('D21.c').getBoundingClientRect().top, "
        "document.querySelector('.top').getBoundingClientRect().bottom]"
    )
    assert top >= header


def test_the_contents_say_what_is_read(site: Site, page: Page) -> None:
    """Beside the text the contents stand open and mark the part at the top of the window."""
    page.goto(site.url(ENTRY))
    assert page.is_visible(".side li a")
    page.evaluate("document.getElementById('D21.c').scrollIntoView()")
    page.wait_for_selector(".side a[href='#D21.c'][aria-current]")
    assert page.locator(".side [aria-current]").count() == 1


def test_a_phone_folds_navigation_and_contents(site: Site, open_page: Callable[..., Page]) -> None:
    """The menu opens by a touch and closes with Escape, which gives the focus back; the contents open by a touch."""
    page = open_page(**PHONE)
    page.goto(site.url(ENTRY))
    assert not page.is_visible(".menu a")
    page.click(".menu summary")
    assert page.is_visible(".menu a")
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    assert not page.is_visible(".menu a")
    assert page.evaluate("document.activeElement.matches('.menu summary')")
    assert not page.is_visible(".side li a")
    page.click(".side summary")
    assert page.is_visible(".side li a")


@pytest.mark.parametrize(
    ("path", "words"),
    [("ko/settings.html", "nccl socket"), ("ko/glossary.html", "all 텐서")],
)
def test_a_long_list_can_be_filtered(site: Site, page: Page, path: str, words: str) -> None:
    """Typing leaves the rows that hold every word; emptying the field brings all back."""
    page.goto(site.url(path))
    rows = page.locator("[data-filter] > *")
    every = rows.count()
    page.fill(".filter input", words)
    shown = [text.lower() for text in page.locator("[data-filter] > *:visible").all_text_contents()]
    assert 0 < len(shown) < every
    assert all(word in text for text in shown for word in words.split())
    page.fill(".filter input", "")
    assert page.locator("[data-filter] > *:visible").count() == every


@pytest.mark.parametrize("viewport", [PHONE["viewport"], {"width": 1280, "height": 800}], ids=["phone", "desktop"])
def test_without_scripts_everything_can_be_read(
    site: Site, open_page: Callable[..., Page], viewport: dict[str, int]
) -> None:
    """Text, folds, navigation and links work without JavaScript, and no dead button is shown."""
    page = open_page(java_script_enabled=False, viewport=viewport)
    page.goto(site.url("ko/index.html"))
    if viewport["width"] < 1000:
        page.click(".menu summary")
    page.click(".menu a[href='symptoms.html']")
    page.locator("main a[href='e/D21.html']").first.click()
    assert "D21" in page.inner_text("h1")
    assert not page.locator("button:visible").count()
    page.locator(".cause details summary").first.click()
    assert page.locator(".cause details li").first.is_visible()


@pytest.mark.parametrize("system", ["light", "dark"])
def test_paper_is_white(site: Site, open_page: Callable[..., Page], system: str) -> None:
    """Printed, a page is light whatever the theme, without navigation, and names the addresses of its links."""
    page = open_page(color_scheme=system)
    page.goto(site.url(ENTRY))
    if system == "light":
        page.click("button.theme")
    page.emulate_media(media="print")
    assert page.evaluate(GROUND) == LIGHT
    for hidden in (".top", ".side", ".copy", ".turn"):
        assert not page.locator(hidden).first.is_visible(), hidden
    after = "getComputedStyle(document.querySelector('a[href^=http]'), '::after').content"
    assert "http" in page.evaluate(after)
    assert page.evaluate("document.scrollingElement.scrollWidth <= document.scrollingElement.clientWidth")
