"""Opens everything the program knows: the compiled catalogue with the search index inside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distkb.catalogue import places
from distkb.catalogue.cache import open_compiled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from distkb.catalogue.compiled import Compiled
    from distkb.catalogue.model import Catalogue


def open_knowledge(overlays: Sequence[Path] = ()) -> Compiled:
    """Open the built-in knowledge base with the overlays of the user and of `DISTKB_KB`.

    `CatalogueError` where the built-in one is broken; what is wrong with an overlay is in the result's `problems`.
    """
    return open_compiled(places.knowledge_bases(overlays), build_extra)


def build_extra(catalogue: Catalogue) -> dict[str, bytes]:
    """Return what is stored beside the catalogue: the search index."""
    from distkb.search.index import build

    return {"search": build(catalogue)}
