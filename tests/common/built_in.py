"""The catalogue in `kb/`, read once for all tests of a worker."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from distkb.catalogue.cache import open_compiled
from distkb.catalogue.places import builtin
from distkb.cli.knowledge import search_index
from distkb.diagnosis.guide import Guide
from distkb.knowledge import build_extra

if TYPE_CHECKING:
    from distkb.catalogue.model import Catalogue
    from distkb.search.index import Index


@cache
def catalogue() -> Catalogue:
    """Return the built-in catalogue, compiled where it was before: nothing that a test gets must be changed."""
    return open_compiled([builtin()], build_extra).catalogue()


@cache
def index() -> Index:
    """Return the search index of it."""
    return search_index(open_compiled([builtin()], build_extra))


@cache
def guide() -> Guide:
    """Return the built-in catalogue with its likelihoods, ready for a diagnosis."""
    return Guide(catalogue())
