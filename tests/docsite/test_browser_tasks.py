"""From the home page to the right fix: how many clicks it takes, for a line, for words, and in Korean."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from browser import Site
    from playwright.sync_api import Page

pytest_plugins = ("browser",)
pytestmark = pytest.mark.browser

LINE = (
    "[rank3]:[E1121 10:20:41.003 ProcessGroupNCCL.cpp:633] [Rank 3] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=871, OpType=ALLREDUCE, NumelIn=25, NumelOut=25, Timeout(ms)=600000) ran for 600041 milliseconds "
    "before timing out."
)
TASKS = (
    ("en", LINE, "", 1),
    ("en", "loss does not go down with 8 GPUs", "D11", 2),
    ("ko", "학습이 첫 스텝에서 멈춤", "D24", 2),
)
"""Language, what is put into the box, the entry whose fix is right, and the clicks that it may take."""


@pytest.mark.parametrize(("lang", "text", "entry", "most"), TASKS, ids=["line", "words", "korean"])
def test_a_fix_is_few_clicks_away(
    served: Site, open_page: Callable[..., Page], lang: str, text: str, entry: str, most: int
) -> None:
    """The button of the box, then at most one link: the page that opens shows a fix, and words lead among the first."""
    page = open_page()
    page.goto(served.url(f"{lang}/index.html"))
    page.fill("#q", text)
    page.click("form.search.big button.main")
    clicks = 1
    if entry:
        page.wait_for_url("**/search.html?*")
        found = page.locator(".results .entries[data-group=entries] li")
        found.first.wait_for()
        first = [one.split()[0] for one in found.all_inner_texts()[:3]]
        assert entry in first, first
        found.nth(first.index(entry)).locator("a").first.click()
        page.wait_for_url(f"**/e/{entry}.html*")
        clicks += 1
    else:
        page.wait_for_url("**/m/torch.nccl.*.html")
    expect(page.locator(".fixes td a").first).to_be_in_viewport()
    assert clicks <= most
    assert urlsplit(page.url).netloc == urlsplit(served.base).netloc
