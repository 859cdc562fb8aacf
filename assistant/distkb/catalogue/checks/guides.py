"""Guides and incidents: that they load, and that the entries they name exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distkb.catalogue.guide import load_guides
from distkb.catalogue.incident import load_incidents
from distkb.catalogue.problem import Problem

if TYPE_CHECKING:
    from distkb.catalogue.load import Loaded


def check_guides(loaded: Loaded) -> Iterator[Problem]:
    """Yield what is wrong with the guides and the incidents of the knowledge bases."""
    yield from load_incidents(loaded.directories)[1]
    guides, problems = load_guides(loaded.directories)
    yield from problems
    known = loaded.broken | {record.value.id for record in loaded.of("entry")}
    seen: set[str] = set()
    for guide in guides:
        where = next(
            path for base in loaded.directories for path in (base / "guides").glob(f"{guide.id}-{guide.slug}.en.md")
        )
        if guide.id in seen:
            yield Problem(str(where), 1, 1, f"id '{guide.id}' is already used")
        seen.add(guide.id)
        for entry in guide.entries:
            if entry not in known:
                yield Problem(str(where), 1, 1, f"entry '{entry}' does not exist", "warning")
