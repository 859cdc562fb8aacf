"""Opens what the commands work on: the compiled catalogue, its search index, and the diagnosis over both."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from distkb import knowledge
from distkb.catalogue.places import knowledge_bases
from distkb.catalogue.problem import CatalogueError, Problem
from distkb.cli.diagnostics import ExitCode, Failure, note

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from distkb.catalogue.compiled import Compiled
    from distkb.catalogue.model import Catalogue
    from distkb.cli.session import CommonSettings
    from distkb.diagnosis.guide import Guide
    from distkb.diagnosis.model import Diagnosis
    from distkb.evidence.observation import Evidence
    from distkb.evidence.run.closeup import Wish
    from distkb.search.index import Index

_PROBLEMS_SHOWN = 5
"""Notes about broken records that a command prints before its answer; `kb check` prints all."""


def open_knowledge(session: CommonSettings) -> Compiled:
    """Open the built-in knowledge base and the overlays; a record with a problem is left out, and a note says so."""
    try:
        compiled = knowledge.open_knowledge(session.overlays)
    except CatalogueError:
        compiled = _compile_what_is_sound(knowledge_bases(session.overlays))
    _say_problems([problem for problem in compiled.problems if problem.severity == "error"], session)
    if not compiled.ids():
        raise Failure("error.kb-missing", code=ExitCode.UNABLE, path=knowledge_bases()[0])
    return compiled


def _compile_what_is_sound(directories: Sequence[Path]) -> Compiled:
    """Compile the records that have no problem, for this run only: a broken file is being edited right now."""
    from distkb.catalogue.compiled import Compiled, compile_catalogue
    from distkb.catalogue.load import load_sources

    catalogue, problems = load_sources(directories)
    return Compiled(compile_catalogue(catalogue, knowledge.build_extra(catalogue), problems=problems))


def _say_problems(problems: Sequence[Problem], session: CommonSettings) -> None:
    say = session.say
    for problem in problems[:_PROBLEMS_SHOWN]:
        note(say("note.kb-problem", problem=problem), say)
    if len(problems) > _PROBLEMS_SHOWN:
        note(say("note.kb-more-problems", n=len(problems) - _PROBLEMS_SHOWN), say)


def search_index(compiled: Compiled) -> Index:
    """Return the search index that is stored with the catalogue."""
    from distkb.search.index import load

    return load(compiled.search_index())


class Knowledge:
    """The catalogue with what diagnosing needs; made once, used for any number of diagnoses."""

    def __init__(self, compiled: Compiled) -> None:
        self.catalogue: Catalogue = compiled.catalogue()
        self._compiled = compiled

    @cached_property
    def _index(self) -> Index:
        return search_index(self._compiled)

    @cached_property
    def _guide(self) -> Guide:
        from distkb.diagnosis.guide import Guide

        return Guide(self.catalogue)

    def read(self, paths: Sequence[Path]) -> Evidence:
        """Return what stands in logs, without diagnosing it."""
        from distkb import intake
        from distkb.catalogue.places import cache_directory

        return intake.read(self.catalogue, paths, cache_dir=cache_directory())

    def diagnose(
        self,
        report: str,
        paths: Sequence[Path],
        facts: Mapping[str, str],
        *,
        report_name: str | None = None,
        wish: Wish | None = None,
    ) -> Diagnosis:
        """Return the diagnosis of what was given; `wish`: with the run seen from near."""
        from distkb import intake
        from distkb.catalogue.places import cache_directory
        from distkb.diagnosis.batch import diagnose
        from distkb.evidence.progress import listener

        evidence = intake.read(
            self.catalogue,
            paths,
            report=report or None,
            report_name=report_name,
            facts=facts,
            index=lambda: self._index,
            cache_dir=cache_directory(),
            progress=listener(),
            look_near=True,
            wish=wish,
        )
        return diagnose(self._guide, evidence)
