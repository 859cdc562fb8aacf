"""The built site: whole, linked, alike in both languages, the same twice, and safe whatever the catalogue holds."""

from __future__ import annotations

import gzip
import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import built_in
import msgspec
import pytest
from pages import Read
from shelf import library

from distkb.catalogue.guide import GuideText
from distkb.catalogue.model import Catalogue
from distkb.catalogue.records import Text
from distkb.docsite import colours
from distkb.docsite.build import MARKER, NotOursError, build, rendered, sources
from distkb.docsite.views import Library
from distkb.report.meaning import Meanings

pytest_plugins = ("built_site",)

BASE = "https://example.org/distkb/"
PROGRAMS = ("/diagnose.html", "/advise.html", "/search.html")
"""Pages that compute."""


@pytest.fixture(scope="module")
def pages(files: dict[str, bytes]) -> dict[str, Read]:
    """Every page, read."""
    return {path: Read(path, content.decode()) for path, content in files.items() if path.endswith(".html")}


def test_every_entry_has_a_page_in_both_languages(files: dict[str, bytes]) -> None:
    """English and Korean have the same set of pages, one for each entry among them."""
    sets = [{path[3:] for path in files if path.startswith(f"{lang}/")} for lang in ("en", "ko")]
    assert sets[0] == sets[1]
    assert {f"e/{entry.id}.html" for entry in library().entries} <= sets[0]


@pytest.mark.slow
def test_no_link_and_no_anchor_is_broken(files: dict[str, bytes], pages: dict[str, Read]) -> None:
    """Every link within the site leads to a file, and its fragment to an element of it."""
    broken = []
    for path, page in pages.items():
        for link in page.links:
            if link.startswith(("https://", "http://")):
                continue
            target, fragment = page.target(link)
            if target not in files or (fragment and fragment not in pages[target].ids):
                broken.append((path, link))
    assert broken == []


def test_pages_are_well_formed(pages: dict[str, Read]) -> None:
    """Each page has one h1, no heading skips a level, ids are unique, elements close in order, no style or handler."""
    for path, page in pages.items():
        assert page.headings.count(1) == 1, path
        assert all(b - a <= 1 for a, b in zip(page.headings, page.headings[1:], strict=False)), (path, page.headings)
        assert len(page.ids) == len(set(page.ids)), path
        assert page.crossed == [], path
        assert page.open == [], path
        assert not any(name == "style" or name.startswith("on") for name in page.attributes), path
        assert page.lang == (path[:2] if path[2:3] == "/" else "en")


def test_nothing_is_loaded_from_elsewhere(files: dict[str, bytes], pages: dict[str, Read]) -> None:
    """Scripts, styles and icons are files of the site, at addresses that hold from the page."""
    for path, page in pages.items():
        for resource in page.resources:
            assert page.target(resource)[0] in files, (path, resource)
    # the other scripts are data, and hold texts of entries
    written = {path.name for path in (sources() / "assets").iterdir() if path.suffix != ".svg"}
    for path, content in files.items():
        if re.sub(r".*/(.+)\.[0-9a-f]{8}\.", r"\1.", path) in written:
            assert not re.search(rb"(?:https?:)?//[a-z]+\.", content), path


def test_titles_and_descriptions_are_of_use_to_a_search_engine(files: dict[str, bytes]) -> None:
    """Titles have at most 60 characters, descriptions at most 155, and neither is empty."""
    for path, content in files.items():
        if path.endswith(".html"):
            title = re.search(r"<title>(.*?)</title>", content.decode(), re.DOTALL)
            about = re.search(r'name="description" content="([^"]*)"', content.decode())
            assert title, path
            assert 0 < len(html.unescape(title[1])) <= 60, (path, title[1])
            assert about, path
            assert 0 < len(html.unescape(about[1])) <= 155, path


def test_both_languages_share_their_anchors(pages: dict[str, Read]) -> None:
    """A fragment that works in one language works in the other."""
    for path, page in pages.items():
        if path.startswith("en/"):
            assert set(page.ids) == set(pages[f"ko/{path[3:]}"].ids), path


@pytest.mark.slow
def test_language_links_are_reciprocal() -> None:
    """With a base address every page names both languages and itself, the same set on both."""
    files = dict(rendered(library(), base_url=BASE))
    reads = {path: Read(path, content.decode()) for path, content in files.items() if path.endswith(".html")}
    for path, page in reads.items():
        if path[2:3] != "/":
            continue
        assert page.alternates == reads[f"{'ko' if path.startswith('en') else 'en'}{path[2:]}"].alternates
        assert page.alternates[path[:2]] == BASE + path
    assert b"<loc>" in files["sitemap.xml"]


def test_weight_stays_within_the_budget(files: dict[str, bytes], pages: dict[str, Read]) -> None:
    """Compressed, a page has at most 20 kB of HTML, 10 kB of styles and 8 kB of scripts; the whole site 25 MB.

    A page for printing holds a whole family of entries, and may have 60 kB of HTML; one that computes 24 kB of scripts.
    The program for browsers, which is loaded when it is first asked, has 15 MB more.
    """

    def weight(path: str, suffix: str) -> int:
        used = {pages[path].target(link)[0] for link in pages[path].resources if link.endswith(suffix)}
        return sum(len(gzip.compress(files[one], 9)) for one in used)

    limits = {path: 60_000 if path.endswith("-print.html") else 20_000 for path in pages}
    heavy = {path: size for path in pages if (size := len(gzip.compress(files[path], 9))) > limits[path]}
    assert heavy == {}
    for path in pages:
        assert weight(path, ".css") <= 10_000, path
        assert weight(path, ".js") <= (24_000 if path.endswith(PROGRAMS) else 8_000), path
    engine = sum(len(content) for path, content in files.items() if "/diagnose-engine." in path)
    assert engine <= 15_000_000
    assert sum(map(len, files.values())) - engine <= 25_000_000


@pytest.mark.slow
def test_the_build_is_the_same_twice(files: dict[str, bytes], tmp_path: Path) -> None:
    """Another process, hash seed, time zone and locale give the same bytes."""
    changes = {"PYTHONHASHSEED": "2", "TZ": "Asia/Seoul", "LC_ALL": "C"}
    subprocess.run(
        [sys.executable, "-m", "distkb", "site", "build", "--out", str(tmp_path)],
        env={**os.environ, **changes},
        check=True,
        capture_output=True,
    )
    assert {p.relative_to(tmp_path).as_posix(): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == files


def test_a_folder_with_something_else_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build replaces what a build wrote, and nothing else."""
    page = {MARKER: b"", "en/index.html": b"hello"}
    monkeypatch.setattr("distkb.docsite.build.rendered", lambda *_, **__: iter(page.items()))
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(NotOursError):
        build(library(), tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "mine"
    out = tmp_path / "site"
    build(library(), out)
    (out / "old.html").write_text("x")
    build(library(), out)
    assert not (out / "old.html").exists()
    assert (out / MARKER).is_file()


HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)> `<b>` {{ 7 * 7 }} {% raw %}"


FREE = frozenset({"en", "ko", "example", "before", "after", "commands", "name", "title", "allowed", "supports"})
"""Fields that hold what somebody wrote, rather than a name that the program knows."""


def hostile(value: Any, *, field: str = "") -> Any:
    """The same record with markup in every text."""
    if isinstance(value, dict):
        return {key: hostile(inner, field=key) for key, inner in value.items()}
    if isinstance(value, list):
        return [hostile(inner, field=field) for inner in value]
    return HOSTILE if isinstance(value, str) and field in FREE else value


@pytest.mark.slow
def test_a_hostile_catalogue_is_shown_as_text() -> None:
    """Markup in every field reaches the page as text: no script, no handler, no template of the catalogue's runs."""
    real = built_in.catalogue()
    raw = json.loads(msgspec.json.encode(real))
    evil = msgspec.json.decode(json.dumps(hostile(raw)), type=Catalogue)
    body = f"## {HOSTILE}\n\n{HOSTILE}\n\n- {HOSTILE}\n\n```\n{HOSTILE}\n```\n"
    guide = GuideText(id="G1", slug="x", title=Text(en=HOSTILE, ko=HOSTILE), body=Text(en=body, ko=body))
    for path, content in rendered(Library(evil, (guide,), Meanings(evil), b"", ())):
        if not path.endswith(".html"):
            continue
        page = Read(path, content.decode())
        assert not any(name.startswith("on") for name in page.attributes), path
        own = {"advise.html": 3}.get(path[3:], 0)  # what it computes with
        assert content.count(b"<script") == 2 + own, path
        assert b"<img" not in content, path
        assert page.crossed == [], path
        assert page.open == [], path


@pytest.mark.slow
def test_what_changed_can_be_followed() -> None:
    """Each language has an Atom feed, the newest first, whose links are pages; each page names the card."""
    files = dict(rendered(library(), base_url=BASE))
    atom = "{http://www.w3.org/2005/Atom}"
    for lang in ("en", "ko"):
        feed = ElementTree.fromstring(files[f"{lang}/feed.xml"])  # noqa: S314 - of our own
        dates = [entry.findtext(f"{atom}updated") or "" for entry in feed.iter(f"{atom}entry")]
        assert dates
        assert dates == sorted(dates, reverse=True)
        for link in feed.findall(f"{atom}entry/{atom}link"):
            assert link.attrib["href"].removeprefix(BASE) in files
        assert b'type="application/atom+xml"' in files[f"{lang}/index.html"]
    for path, content in files.items():
        if path.endswith(".html") and path[2:3] == "/":
            found = re.search(rf'property="og:image" content="{BASE}([^"]+)"'.encode(), content)
            assert found, path
            assert files[found[1].decode()].startswith(b"\x89PNG"), path


def test_code_is_coloured_while_the_site_is_built() -> None:
    """Keywords, strings and comments are elements; the text stays the code's, what no lexer knows included."""
    shown = colours.coloured('    if x == "<a>":  # why', "python")
    assert shown == "    <b>if</b> x == <i>&quot;</i><i>&lt;a&gt;</i><i>&quot;</i>:  <small># why</small>"
    assert colours.coloured("<b>", "no such language") == "&lt;b&gt;"
