"""The page that diagnoses without a server, and the scripts of data that it works on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from distkb.catalogue.records import LANGUAGES, Language
from distkb.docsite.data.signatures import patterns
from distkb.docsite.data.table import fixes, table, words
from distkb.docsite.data.wording import alike, told
from distkb.docsite.scripts import script
from distkb.docsite.site import Page, named

if TYPE_CHECKING:
    from distkb.docsite.views import Library


BUNDLES: Mapping[str, tuple[str, ...]] = {
    "diagnose-page.js": ("site.js", "diagnose.js"),
    **{
        f"diagnose-core-{lang}.js": ("belief.js", "session.js", "diagnose-table.js", f"diagnose-words-{lang}.js")
        for lang in LANGUAGES
    },
    "diagnose-reader.js": (
        "text.js",
        "affinity.js",
        "wording.js",
        "reading.js",
        "diagnose-patterns.js",
        "lanes.js",
        "reader.js",
    ),
    "diagnose-spoken.js": ("diagnose-wording.js", "diagnose-said.js"),
}
"""Scripts that are loaded at once: the page's own, what it thinks with, what reads, and what words take beside."""
APART = frozenset({"site.js", "text.js"})
"""Parts of bundles that other pages load by themselves."""


def bundled(contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of the site, by name, with the bundles in place of their parts."""
    whole = {name: b"".join(contents[part] for part in parts) for name, parts in BUNDLES.items()}
    inside = {part for parts in BUNDLES.values() for part in parts} - APART
    return {name: content for name, content in contents.items() if name not in inside} | whole


def scripts(library: Library) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each script of data: what is read by, what is thought with, and the words of both."""
    every = patterns(library)
    said = {s.id for s in library.catalogue.signatures if s.where == ("report",)}
    told_rows = [[place, row] for place, row in enumerate(every["signatures"]) if row[0] in said]
    printed = [row for row in every["signatures"] if row[0] not in said]
    yield "diagnose-patterns.js", script("diagnosePatterns", every | {"signatures": printed})
    yield "diagnose-said.js", script("diagnoseSaid", told_rows)
    yield "diagnose-table.js", script("diagnoseTable", table(library))
    yield "diagnose-wording.js", script("diagnoseWording", told(library))
    yield "diagnose-runs.js", script("diagnoseRuns", alike(library))
    for lang in LANGUAGES:
        yield f"diagnose-words-{lang}.js", script("diagnoseWords", words(library, lang))
        yield f"diagnose-fixes-{lang}.js", script("diagnoseFixes", fixes(library, lang))


def pages(library: Library, lang: Language) -> Iterator[Page]:
    """Yield the one page of this kind."""
    yield named(lang, "diagnose", {"entries": len(library.entries)})
