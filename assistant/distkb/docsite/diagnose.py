"""The page that diagnoses without a server, and the scripts of data that it works on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distkb.catalogue.records import LANGUAGES, Language
from distkb.docsite.data.signatures import patterns
from distkb.docsite.data.table import fixes, table, words
from distkb.docsite.data.wording import told
from distkb.docsite.scripts import script
from distkb.docsite.site import Page, named

if TYPE_CHECKING:
    from distkb.docsite.views import Library


def scripts(library: Library) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each script of data: what is read by, what is thought with, and the words of both."""
    yield "diagnose-patterns.js", script("diagnosePatterns", patterns(library))
    yield "diagnose-table.js", script("diagnoseTable", table(library))
    yield "diagnose-wording.js", script("diagnoseWording", told(library))
    for lang in LANGUAGES:
        yield f"diagnose-words-{lang}.js", script("diagnoseWords", words(library, lang))
        yield f"diagnose-fixes-{lang}.js", script("diagnoseFixes", fixes(library, lang))


def pages(library: Library, lang: Language) -> Iterator[Page]:
    """Yield the one page of this kind."""
    yield named(lang, "diagnose", {"entries": len(library.entries)})
