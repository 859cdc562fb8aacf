"""Everything that was given, read into one `Evidence`: artifacts, a report's words, and facts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from distkb.catalogue.model import Catalogue
from distkb.evidence.artifacts import Artifacts, read_artifacts
from distkb.evidence.border import fit_to_show
from distkb.evidence.guarded import guarded
from distkb.evidence.implied import concluded_facts, implied_facts
from distkb.evidence.logs import Progress
from distkb.evidence.observation import Evidence, LineRange, Observation, Quote, Skipped
from distkb.evidence.read import merge, read_evidence
from distkb.evidence.readers.report.failure_text import without_lines
from distkb.evidence.readers.scripts.source import Script
from distkb.evidence.run.closeup import Wish
from distkb.evidence.text.clean import quote_text
from distkb.evidence.text.printed import written_kinds
from distkb.evidence.walk import take_stock
from distkb.likeness import RunLikeness, of_error, of_report, of_run
from distkb.search.code_words import setting_words, tree_words
from distkb.search.index import Index, build, load

SETTINGS_BYTES = 100_000
"""Bytes of a configuration of which the words count."""


def read(  # noqa: PLR0913 - all that can be given
    catalogue: Catalogue,
    paths: Sequence[Path],
    *,
    report: str | None = None,
    report_name: str | None = None,
    facts: Mapping[str, str] | None = None,
    index: Callable[[], Index] | None = None,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
    look_near: bool = False,
    wish: Wish | None = None,
) -> Evidence:
    """Read all of it; what cannot be read is listed in `skipped` and the rest still counts.

    `report_name` is the path that quotes of the report carry; None where it came from a pipe. `index` opens the
    search index: without it one is built for a report, and nothing that was printed is compared.
    `look_near`: scripts that tracebacks name are read where they lie on this machine and were not given. `wish`: the
    run is shown from near too. Raises FactError (a ValueError) for a fact that is not one.
    """
    stock = take_stock(paths)
    artifacts = read_artifacts(stock, catalogue.settings, {}, catalogue.refusals)
    evidence = read_evidence(
        catalogue.signatures,
        catalogue.facts,
        {finding.id for finding in catalogue.findings},
        stock,
        report=report,
        report_name=report_name,
        fact_values=facts,
        cache_dir=cache_dir,
        progress=progress,
        others=artifacts.not_logs,
        standing=artifacts.standing(),
        project=artifacts.project(),
        look_near=look_near,
        wish=wish,
    )
    evidence = _with_artifacts(evidence, catalogue, paths, artifacts)
    printed = {s.id: s.implies for s in catalogue.signatures}
    implies = printed | {f.id: f.implies for f in catalogue.findings}
    concludes = {s.id: s.concludes for s in catalogue.signatures} | {f.id: f.concludes for f in catalogue.findings}
    seen = (*evidence.observations, *concluded_facts(evidence.observations, concludes, printed))
    evidence = msgspec.structs.replace(evidence, observations=(*seen, *implied_facts(seen, implies)))
    said = bool(report and report.strip())
    if said or index is None:
        evidence = msgspec.structs.replace(evidence, unexplained=None)
    project, kinds = artifacts.project(), evidence.printed
    failed: list[Skipped] = []

    def lacks() -> tuple[str, ...] | None:
        from distkb.evidence.code.takes import lacking

        return None if project is None else lacking(catalogue.entries, project, artifacts.settings)

    evidence = msgspec.structs.replace(evidence, printed={}, unreached=(), lacking=guarded(lacks, "script", failed))
    if not said and (index is None or (not kinds and project is None)):
        return fit_to_show(msgspec.structs.replace(evidence, skipped=(*evidence.skipped, *failed)))
    compared = index() if index is not None else load(build(catalogue))

    def affinity() -> dict[str, float]:
        if said:
            return of_report(compared, own_words(catalogue, evidence, report or "", report_name))
        return {} if evidence.unexplained is None else of_error(compared, evidence.unexplained.text)

    def likeness() -> RunLikeness:
        scripts = () if project is None else project.scripts
        lines = ((text, (script, number)) for script in scripts for number, text in enumerate(script.lines, 1))
        written = {
            kind: Quote(text=quote_text(script.lines[number - 1]), path=script.name, line=number)
            for kind, (script, number) in written_kinds(lines).items()
        }
        return of_run(compared, kinds, written, _code_words(scripts, artifacts.settings))

    alike = (guarded(likeness, "-", failed) if kinds or project is not None else None) or RunLikeness()
    found = msgspec.structs.replace(
        evidence,
        affinity=guarded(affinity, report_name or "-", failed) or {},
        likeness=alike.weights,
        alike=alike.lines,
        skipped=(*evidence.skipped, *failed),
    )
    return fit_to_show(found)


def _code_words(scripts: Sequence[Script], settings: Iterable[Path]) -> set[str]:
    """Return what stands in the scripts and in the configurations beside them."""
    found: set[str] = set()
    for script in scripts:
        found |= tree_words(script.tree)
    for path in settings if scripts else ():
        if path.suffix != ".py":
            with contextlib.suppress(OSError), path.open("rb") as file:
                found |= setting_words(file.read(SETTINGS_BYTES).decode("utf-8", "replace"))
    return found


def own_words(catalogue: Catalogue, evidence: Evidence, report: str, report_name: str | None = None) -> str:
    """Return the report without the lines that only repeat that something failed elsewhere: they tell of no cause."""
    collateral = {s.id for s in catalogue.signatures if s.role == "collateral"}
    seen = (o for o in evidence.observations if o.id in collateral and o.present and o.source == "report")
    quoted = (q for o in seen for q in o.quotes if q.path == report_name)
    return without_lines(report, {q.line for q in quoted if q.line is not None})


def _is_unreached(one: Observation, unreached: Iterable[LineRange]) -> bool:
    """Whether it is said of lines of a script to which the run never came."""
    return one.reader == "script" and bool(one.quotes) and any(lines.holds(one.quotes[0]) for lines in unreached)


def _with_artifacts(evidence: Evidence, catalogue: Catalogue, paths: Sequence[Path], artifacts: Artifacts) -> Evidence:
    """Add what stands beside the logs; a folder that holds only such files is no folder without logs."""
    if not artifacts.readings:
        return evidence
    known = frozenset(finding.id for finding in catalogue.findings)
    said = frozenset(o.id.partition("=")[0] for o in evidence.observations if "=" in o.id)
    whole = {str(path) for path in paths if path.is_dir() and any(path in file.parents for file in artifacts.files)}
    kept = [s for s in evidence.skipped if not (s.code == "no-logs" and s.path in whole)]
    told = [o for o in artifacts.observations(known, said) if not _is_unreached(o, evidence.unreached)]
    return msgspec.structs.replace(
        evidence,
        observations=tuple(merge([*evidence.observations, *told])),
        skipped=(*kept, *artifacts.skipped()),
        bytes_read=evidence.bytes_read + artifacts.bytes_read(),
        closeup=None if evidence.closeup is None else msgspec.structs.replace(evidence.closeup, facts=artifacts.told()),
    )
