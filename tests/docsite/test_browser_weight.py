"""How heavy and how fast pages are: what a first visit loads, and what Lighthouse says of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from site_tools import FOLDER, node

from distkb.catalogue.places import builtin

if TYPE_CHECKING:
    from browser import Site
    from playwright.sync_api import Page

pytest_plugins = ("browser",)
pytestmark = pytest.mark.browser

SAMPLE = (
    "en/index.html",
    "ko/e/D1.html",
    "en/errors.html",
    "ko/settings.html",
    "en/diagnose.html",
    "ko/diagnose.html",
    "en/m/torch.nccl.watchdog-timeout.html",
)
REQUESTS = 4
"""What a page may load before anybody has touched it: itself, the style, two scripts. (An icon is not counted.)"""
PROGRAMS = ("diagnose.html", "advise.html", "search.html")
"""Pages that compute, and may load one more script for it."""


@pytest.mark.parametrize("path", SAMPLE)
def test_a_first_visit_loads_little(served: Site, open_page: Callable[..., Page], path: str) -> None:
    """A page asks for at most four files, one that computes for five, and all of them are of the site."""
    if path not in served.pages:
        pytest.skip(f"the site has no {path}")
    page = open_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(served.url(path), wait_until="networkidle")
    assert len([url for url in asked if not url.endswith(".svg")]) <= REQUESTS + path.endswith(PROGRAMS), asked
    assert {urlsplit(url).netloc for url in asked} == {urlsplit(served.base).netloc}


@pytest.mark.usefixtures("engine")
def test_the_program_is_one_file_that_is_loaded_when_it_is_needed(served: Site, open_page: Callable[..., Page]) -> None:
    """A log takes one request beyond the page's own, of at most 12 MB as servers send it; nothing else is asked for."""
    log = (builtin() / "incidents" / "I2-frozen-after-validation" / "logs" / "console.log").read_text(encoding="utf-8")
    page = open_page()
    loaded: list[tuple[str, int]] = []
    page.on("response", lambda answer: loaded.append((answer.url, int(answer.headers.get("content-length", 0)))))
    page.goto(served.url("en/diagnose.html"))
    before = len(loaded)
    page.fill("#d-text", log)
    page.click("#diagnose form button.main")
    page.locator("#diagnose[data-drawn]").wait_for(timeout=120_000)
    asked = [(url, size) for url, size in loaded[before:] if not url.startswith("blob:") and not url.endswith(".svg")]
    assert len(asked) == 1, asked
    assert asked[0][1] <= 12_000_000


@pytest.mark.alone
@pytest.mark.timeout(600)
def test_lighthouse_finds_nothing(served: Site, chromium: str) -> None:
    """Performance is at least 0.99, and accessibility, best practices and search engines 1.0."""
    urls = [served.url(path) for path in SAMPLE if path in served.pages]
    done = subprocess.run(
        [node(), "lighthouse.mjs", chromium, *urls], cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["url"] for one in results] == urls
    for one in results:
        # where logs are pasted a page may connect to nothing, not even to read robots.txt, which Lighthouse then misses
        apart = one["url"].endswith("diagnose.html") and one["short"] == [
            "robots-txt  Lighthouse was unable to download a robots.txt file"
        ]
        assert one["scores"]["performance"] >= 0.99, one
        assert one["scores"]["accessibility"] == 1, one
        assert one["scores"]["best-practices"] == 1, one
        assert one["scores"]["seo"] == 1 or apart, one
