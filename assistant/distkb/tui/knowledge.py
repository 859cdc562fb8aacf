"""What the screens look things up in: the catalogue, its index, and what sessions need; loaded in a thread."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from distkb import knowledge
from distkb.report.meaning import Meanings

if TYPE_CHECKING:
    from distkb.catalogue.compiled import Compiled
    from distkb.catalogue.model import Catalogue, Entry, Finding, Step
    from distkb.diagnosis.guide import Guide
    from distkb.search.index import Index


class ScreenKnowledge:
    """The catalogue as the screens need it. Slow parts are made once, in the thread that loads it."""

    def __init__(self, overlays: Sequence[Path]) -> None:
        """Open the compiled catalogue; CatalogueError where the built-in one is broken."""
        self.overlays = tuple(overlays)
        self.compiled: Compiled = knowledge.open_knowledge(self.overlays)
        self.catalogue: Catalogue = self.compiled.catalogue()
        self.meanings = Meanings(self.catalogue)
        self.entries: dict[str, Entry] = {entry.id: entry for entry in self.catalogue.entries}
        self.findings: dict[str, Finding] = {finding.id: finding for finding in self.catalogue.findings}
        self.steps: dict[str, Step] = {step.id: step for step in self.catalogue.steps}

    @cached_property
    def guide(self) -> Guide:
        """Return what sessions are computed with."""
        from distkb.diagnosis.guide import Guide

        return Guide(self.catalogue)

    @cached_property
    def index(self) -> Index:
        """Return the search index."""
        from distkb.search.index import load

        return load(self.compiled.search_index())

    def warm(self) -> None:
        """Make the slow parts now."""
        _ = self.guide
        _ = self.index
