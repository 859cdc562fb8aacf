"""What the site is made of: the built-in catalogue with its guides and incidents, read once."""

from __future__ import annotations

import functools

from distkb.catalogue.guide import load_guides
from distkb.catalogue.incident import load_incidents
from distkb.catalogue.places import builtin
from distkb.docsite.views import Library
from distkb.knowledge import open_knowledge
from distkb.report.meaning import Meanings


@functools.cache
def library() -> Library:
    """Return the built-in catalogue, ready to be shown."""
    compiled = open_knowledge()
    catalogue = compiled.catalogue()
    guides = tuple(load_guides([builtin()])[0])
    incidents = tuple(load_incidents([builtin()])[0])
    return Library(catalogue, guides, Meanings(catalogue), search=compiled.search_index(), incidents=incidents)
