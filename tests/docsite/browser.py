"""Fixtures that open the built site in a real Chromium; a test module takes them with `pytest_plugins = ("browser",)`.

Every page is watched: a test fails when the page writes an error to its console, breaks its content security policy,
or asks another host for anything.
"""

from __future__ import annotations

import functools
import gzip
import http.server
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest
from shelf import library

from distkb.docsite.build import build

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

pytest_plugins = ("built_site",)

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # whatever a page asks of another host is refused before it leaves the machine
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
)
LOCAL = ("file", "data", "blob", "about")
SUBFOLDER = "docs/distkb"
"""Where a served site lies on its host: never at the root, so that no link can rely on that."""


@dataclass(frozen=True)
class Site:
    """A built site: the folder that it lies in, and the address under which it is opened."""

    root: Path
    base: str

    def url(self, path: str, *, query: str = "", fragment: str = "") -> str:
        """Return the address of a file such as `en/e/D21.html`."""
        return f"{self.base}{path}{f'?{query}' if query else ''}{f'#{fragment}' if fragment else ''}"

    @property
    def pages(self) -> list[str]:
        """The path of every page, sorted."""
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*.html"))


@dataclass
class Watch:
    """What a page did that no page of the site may do."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    """Every address that was asked for, in order."""

    @property
    def elsewhere(self) -> list[str]:
        """Addresses of other hosts."""
        return [url for url in self.requests if not _is_local(url)]

    def note_console(self, message: ConsoleMessage) -> None:
        """Keep errors; violations of the content security policy are among them."""
        if message.type == "error":
            self.errors.append(message.text)

    def note_request(self, request: Request) -> None:
        """Keep the address."""
        self.requests.append(request.url)

    def attach(self, page: Page) -> None:
        """Listen to a page from now on."""
        page.on("console", self.note_console)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self.note_request)


def _is_local(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in LOCAL or parts.hostname in {"localhost", "127.0.0.1"}


@pytest.fixture(scope="session")
def site(built: Path) -> Site:
    """The site as files, opened from file://."""
    return Site(built, built.as_uri() + "/")


@pytest.fixture(scope="session")
def engine(built: Path) -> Path:
    """The script of the program for browsers; the test is skipped where the site was built without it."""
    found = next((built / "assets").glob("diagnose-engine.*.js"), None)
    if found is None:
        pytest.skip("Python for browsers is not there (.ci/fetch-runtime)")
    return found


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files compressed, like the hosts on which such sites stand, and writes no log."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(urlsplit(unquote(self.path)).path))
        if not path.is_file():
            self.send_error(404)
            return
        body = gzip.compress(path.read_bytes(), 6, mtime=0)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=3600")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site built with its base address, on a server of this machine, below a folder."""
    host = tmp_path_factory.mktemp("served")
    handler = functools.partial(_Handler, directory=str(host))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        base = f"http://127.0.0.1:{server.server_port}/{SUBFOLDER}/"
        build(library(), host / SUBFOLDER, base_url=base)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield Site(host / SUBFOLDER, base)
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def chromium() -> str:
    """The program; tests that need it are skipped where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    return found


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """One Chromium for the tests of a module: an open one would keep asyncio from other modules' tests."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """A function that opens an empty, watched page; its options are those of `Browser.new_context`.

    Each has a storage and a cache of its own, and all are closed and judged when the test ends.
    """
    opened: list[tuple[Page, Watch]] = []

    def function(**options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, "locale": "en-US", **options})
        context.set_default_timeout(20_000)
        page = context.new_page()
        watch = Watch()
        watch.attach(page)
        opened.append((page, watch))
        return page

    yield function
    for page, _ in opened:
        page.context.close()
    for _, watch in opened:
        assert watch.errors == []
        assert watch.elsewhere == []


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    """An empty, watched page, 1280 pixels wide."""
    return open_page()
