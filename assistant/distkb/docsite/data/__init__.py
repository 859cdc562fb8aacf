"""What the scripts of the site work on: values made from the catalogue, each written as a script of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distkb.docsite.views import Library


def generated(library: Library) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each script of data."""
    from distkb.docsite import finding
    from distkb.docsite.data import search, sizing

    yield from search.scripts(library)
    yield from finding.scripts(library)
    yield from sizing.scripts(library)
