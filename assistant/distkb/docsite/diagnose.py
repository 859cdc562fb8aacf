"""The page that diagnoses without a server: the program (`distkb.browser`) runs inside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distkb.catalogue.places import cache_directory
from distkb.catalogue.records import Language
from distkb.docsite import runtime
from distkb.docsite.site import Page, named
from distkb.evidence.walk import PRUNED

if TYPE_CHECKING:
    from pathlib import Path

    from distkb.docsite.views import Library

WORKER = "engine-worker.js"
ENGINE = "diagnose-engine.js"
BUNDLE = "diagnose-page.js"
"""The script of the page: what every page has, and its own."""


def scripts(contents: dict[str, bytes], library: Library, archives: Path) -> dict[str, bytes]:
    """Return the files of the site, by name, with the page's scripts as they are loaded; without `archives` no engine.

    Raises DamagedRuntimeError.
    """
    found = {name: content for name, content in contents.items() if name not in ("diagnose.js", WORKER)}
    found[BUNDLE] = contents["site.js"] + contents["diagnose.js"]
    given = runtime.archives(archives)
    if given is not None:
        found[ENGINE] = runtime.engine(given, library, contents[WORKER], cache_directory())
    return found


def pages(_: Library, lang: Language) -> Iterator[Page]:
    """Yield the one page of this kind."""
    yield named(lang, "diagnose", {"pruned": " ".join(sorted(PRUNED))})
