"""A page for each printed line: named by it, with whose it is, what causes it and the fix; found by pasting it."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from distkb.catalogue.guide import load_guides
from distkb.catalogue.places import builtin
from distkb.docsite import messages
from distkb.docsite.build import rendered
from distkb.docsite.site import entry_address
from distkb.docsite.views import Library
from distkb.knowledge import open_knowledge
from distkb.locale import LANGUAGES
from distkb.report.meaning import Meanings

BASE = "https://example.org/docs/distkb/"
REPOSITORY = "https://example.org/you/distkb"


@pytest.fixture(scope="module")
def shelf() -> Library:
    """The built-in catalogue."""
    compiled = open_knowledge()
    catalogue = compiled.catalogue()
    return Library(catalogue, tuple(load_guides([builtin()])[0]), Meanings(catalogue), compiled.search_index())


@pytest.fixture(scope="module")
def files(shelf: Library) -> dict[str, bytes]:
    """The site, built for an address."""
    return dict(rendered(shelf, base_url=BASE, repository=REPOSITORY))


@pytest.mark.slow
def test_every_line_has_a_page(shelf: Library, files: dict[str, bytes]) -> None:
    """In both languages, with the line as its heading, and its causes, each with a fix, where any is known."""
    known = messages.lines(shelf)
    assert len(known) >= 400
    for identity, line in known.items():
        for lang in LANGUAGES:
            page = files[f"{lang}/m/{identity}.html"].decode()
            heading = re.search(r'<h1 class="line"[^>]*>(.*?)</h1>', page, re.DOTALL)
            assert heading
            assert html.unescape(heading[1]) == line.text
            assert (line.signature.example or "") in html.unescape(page)
            rows = page.count('<tr><th scope="row">')
            assert rows == min(len(line.causes), messages.CAUSES), identity
            if line.causes:
                assert f'id="{line.causes[0][1].fixes[0].id}"' in page


def test_no_row_begins_with_a_blank_or_a_date(shelf: Library) -> None:
    """What loggers and launchers put before a line is left out of its name."""
    for identity, line in messages.lines(shelf).items():
        assert not re.match(r"\s|\[?\d{4}-\d\d-\d\d|\[rank\d+\]", line.text), (identity, line.text)
        assert line.text


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("  - [1] are the lagging ranks", "[1] are the lagging ranks"),
        ("[rank0]: RuntimeError: you can only", "RuntimeError: you can only"),
        ("[2026-11-21 10:00:00,000] [ERROR] [launch.py:325:sigkill_handler] exits with code 1", "exits with code 1"),
        ("[rank1]:[E211 09:14:02.118 ProcessGroupNCCL.cpp:2057] watchdog", "watchdog"),
        ("2026-11-21 17:52:19,525 [rank0] INFO attempt 1 starts", "attempt 1 starts"),
        ("[rank0] short", "[rank0] short"),
    ],
)
def test_what_stands_before_a_line_is_left_out(line: str, text: str) -> None:
    """Ranks, dates, levels and places in source files go; what would be left with nearly nothing stays."""
    assert messages.plain(line) == text


def test_search_engines_are_told(files: dict[str, bytes]) -> None:
    """Each page of a line has JSON-LD that parses, and every page of the map says when it was changed."""
    pages = [content.decode() for path, content in files.items() if "/m/" in path]
    for page in pages:
        found = re.search(r'<script type="application/ld\+json">(.*?)</script>', page, re.DOTALL)
        assert found
        told: dict[str, Any] = json.loads(found[1])
        assert told["url"].startswith(BASE)
        assert told["headline"]
    entries = re.findall(r"<url>(.*?)</url>", files["sitemap.xml"].decode())
    assert len(entries) > len(pages)
    assert all(re.search(r"<lastmod>\d{4}-\d\d-\d\d</lastmod>", one) for one in entries)


def test_every_cause_has_a_row_above_the_fold(shelf: Library, files: dict[str, bytes]) -> None:
    """An entry's table has for each cause a check and a link to its first fix, and stands before all causes."""
    for entry in shelf.entries:
        for lang in LANGUAGES:
            page = files[f"{lang}/{entry_address(entry.id)}"].decode()
            table = page[page.index('<table class="fixes">') : page.index("</table>")]
            assert page.index('<table class="fixes">') < page.index('<section class="cause"')
            for cause in entry.causes:
                assert f'href="#{cause.id}"' in table
                assert f'href="#{cause.fixes[0].id}"' in table
            assert not re.search(r"<td[^>]*></td>", table), (entry.id, lang)


def test_programs_can_read_it(shelf: Library, files: dict[str, bytes]) -> None:
    """The catalogue and the messages as JSON name pages that exist, and llms.txt leads to both."""
    catalogue, lines = json.loads(files["catalogue.json"]), json.loads(files["messages.json"])
    assert [one["id"] for one in catalogue["entries"]] == [one.id for one in shelf.entries]
    assert len(lines["messages"]) == len(messages.lines(shelf))
    for one in [*catalogue["entries"], *lines["messages"]]:
        for path in one["pages"].values():
            assert path in files
    assert f"({BASE}messages.json)" in files["llms.txt"].decode()


def test_a_missing_page_can_stand_at_any_depth(files: dict[str, bytes]) -> None:
    """The page that a host shows for an address that it does not have links and loads from the site's root alone."""
    page = files["404.html"].decode()
    links = re.findall(r'(?:href|src|action|data-(?:search|text|index|names|texts|home))="([^"#][^"]*)"', page)
    assert links
    assert all(link.startswith(("/docs/distkb/", "https://")) for link in links), links


def test_an_entry_can_be_edited_and_a_wrong_answer_reported(files: dict[str, bytes]) -> None:
    """With the address of the sources, an entry links to its file there and to a new report."""
    page = files["en/e/D21.html"].decode()
    assert f'href="{REPOSITORY}/edit/main/kb/entries/hangs/D21-' in page
    assert f'href="{REPOSITORY}/issues/new?title=en/e/D21.html"' in page


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_pasted_line_finds_its_page_first(shelf: Library, files: dict[str, bytes], tmp_path: Path) -> None:
    """Of all lines with a page, at least 95 of 100 find their own page, or one of the same words, first."""
    for path, content in files.items():
        if path.startswith("assets/"):
            (tmp_path / Path(path).name).write_bytes(content)
    known = messages.lines(shelf)
    asked = {identity: line.signature.example for identity, line in known.items()}
    script = Path(__file__).with_name("run_lines.js")
    done = subprocess.run(
        ["node", str(script), str(tmp_path)], input=json.dumps(asked), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    first = [one for one in known if any(known[other].text == known[one].text for other in found[one][:1])]
    assert len(first) >= 0.95 * len(known), [one for one in known if one not in first]
