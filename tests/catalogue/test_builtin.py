"""The knowledge base of this repository."""

from __future__ import annotations

from catalogue_samples import KB

from distkb.catalogue.check import check_directories


def test_the_built_in_knowledge_base_has_no_errors() -> None:
    """`distkb kb check` finds nothing that has to be repaired."""
    errors = [problem.shown(KB) for problem in check_directories([KB]) if problem.severity == "error"]
    assert errors == []
