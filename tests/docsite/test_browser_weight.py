"""How heavy and how fast pages are: what a first visit loads, and what Lighthouse says of it."""

from __future__ import annotations

import json
import re
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


def test_a_log_takes_one_bundle_and_the_words_that_it_has(served: Site, open_page: Callable[..., Page]) -> None:
    """A log of five kilobytes takes nine requests, and one for each part of the index that its words stand in.

    All of it is at most 1.2 MB, compressed as servers send them.
    """
    log = (builtin() / "incidents" / "I2-frozen-after-validation" / "logs" / "console.log").read_text(encoding="utf-8")
    page = open_page()
    loaded: list[tuple[str, int]] = []
    page.on("response", lambda answer: loaded.append((answer.url, int(answer.headers.get("content-length", 0)))))
    page.goto(served.url("en/diagnose.html"))
    page.fill("#d-text", log)
    page.click("#diagnose form button.main")
    page.wait_for_selector("#d-causes > li")
    asked = [url for url, _ in loaded if not url.endswith(".svg")]
    parts = [url for url in asked if re.search(r"/search-\d+\.", url)]
    assert len(asked) - len(parts) <= 9, loaded
    assert sum(size for _, size in loaded) <= 1_200_000


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
