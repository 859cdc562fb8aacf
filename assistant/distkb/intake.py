"""Everything that was given, read into one `Evidence`: artifacts, a report's words, and facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from distkb.catalogue.model import Catalogue
from distkb.evidence.artifacts import Artifacts, read_artifacts
from distkb.evidence.border import fit_to_show
from distkb.evidence.guarded import guarded
from distkb.evidence.implied import concluded_facts, implied_facts
from distkb.evidence.observation import Evidence, Skipped
from distkb.evidence.read import Progress, merge, read_evidence
from distkb.evidence.readers.report.failure_text import FAILURE_SHARE, failure_text, unprinted, without_lines
from distkb.evidence.readers.report.report_reader import take_apart
from distkb.evidence.readers.scripts.source import Script
from distkb.evidence.run.closeup import Wish
from distkb.evidence.text.printed import written_words
from distkb.evidence.walk import take_stock
from distkb.search.affinity import HALF_WORDS_OF_ERROR, HALF_WORDS_OF_RUN, LISTED, affinity, damped_words
from distkb.search.index import Index, build, load
from distkb.search.query import listed
from distkb.search.wording import WORDING, weights

WRITTEN = 0.5
"""Weight of the words of scripts beside those of what the run printed: most of a script works."""


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
    project, words = artifacts.project(), evidence.printed
    evidence = msgspec.structs.replace(evidence, printed="")
    if not said and (index is None or not words):
        return fit_to_show(evidence)
    compared = index() if index is not None else load(build(catalogue))
    failed: list[Skipped] = []

    def affinity() -> dict[str, float]:
        if said:
            return _affinity(compared, own_words(catalogue, evidence, report or "", report_name))
        return {} if evidence.unexplained is None else _affinity_of_error(compared, evidence.unexplained.text)

    def likeness() -> dict[str, float]:
        return _likeness(compared, words, () if project is None else project.scripts) if words else {}

    found = msgspec.structs.replace(
        evidence,
        affinity=guarded(affinity, report_name or "-", failed) or {},
        likeness=guarded(likeness, "-", failed) or {},
        skipped=(*evidence.skipped, *failed),
    )
    return fit_to_show(found)


def own_words(catalogue: Catalogue, evidence: Evidence, report: str, report_name: str | None = None) -> str:
    """Return the report without the lines that only repeat that something failed elsewhere: they tell of no cause."""
    collateral = {s.id for s in catalogue.signatures if s.role == "collateral"}
    seen = (o for o in evidence.observations if o.id in collateral and o.present and o.source == "report")
    quoted = (q for o in seen for q in o.quotes if q.path == report_name)
    return without_lines(report, {q.line for q in quoted if q.line is not None})


def _with_artifacts(evidence: Evidence, catalogue: Catalogue, paths: Sequence[Path], artifacts: Artifacts) -> Evidence:
    """Add what stands beside the logs; a folder that holds only such files is no folder without logs."""
    if not artifacts.readings:
        return evidence
    known = frozenset(finding.id for finding in catalogue.findings)
    said = frozenset(o.id.partition("=")[0] for o in evidence.observations if "=" in o.id)
    whole = {str(path) for path in paths if path.is_dir() and any(path in file.parents for file in artifacts.files)}
    kept = [s for s in evidence.skipped if not (s.code == "no-logs" and s.path in whole)]
    return msgspec.structs.replace(
        evidence,
        observations=tuple(merge([*evidence.observations, *artifacts.observations(known, said)])),
        skipped=(*kept, *artifacts.skipped()),
        bytes_read=evidence.bytes_read + artifacts.bytes_read(),
        closeup=None if evidence.closeup is None else msgspec.structs.replace(evidence.closeup, facts=artifacts.told()),
    )


def _affinity_of_error(index: Index, error: str) -> dict[str, float]:
    """How well an error fits each entry: by its words, the fewer the less, and by the listed messages of libraries."""
    words = len(damped_words(index, error))
    share = words / (words + HALF_WORDS_OF_ERROR)
    known = listed(index, error)
    return {
        entry: share * weight + (LISTED if entry in known else 0.0) for entry, weight in _affinity(index, error).items()
    }


def _likeness(index: Index, printed: str, scripts: Iterable[Script]) -> dict[str, float]:
    """How well what a run printed fits each entry, the less it is the less, and, by half, what its scripts say."""
    words = len(damped_words(index, printed))
    share = words / (words + HALF_WORDS_OF_RUN)
    of_run = _fits(index, ((printed, 1.0),))
    written = written_words(line for script in scripts for line in script.lines)
    of_scripts = _fits(index, ((written, 1.0),)) if written else {}
    return {entry: share * weight + WRITTEN * of_scripts.get(entry, 0.0) for entry, weight in of_run.items()}


def _affinity(index: Index, report: str) -> dict[str, float]:
    """How well a report fits each entry: above all what it says of the failure."""
    return _fits(index, ((failure_text(take_apart(report)), FAILURE_SHARE), (report, 1.0 - FAILURE_SHARE)))


def _fits(index: Index, texts: Iterable[tuple[str, float]]) -> dict[str, float]:
    """How well texts with their shares fit each entry: by the likeness of passages and by the statistics of words."""
    likeness = dict.fromkeys(index.ids, 0.0)
    sums = dict.fromkeys(index.ids, 0.0)
    for words, share in texts:
        text = unprinted(words)
        for entry, weight in affinity(index, text).items():
            likeness[entry] += share * weight
        for entry, total in zip(index.ids, index.wording.weigh(damped_words(index, text)), strict=True):
            sums[entry] += share * total
    told = weights(sums)
    return {entry: likeness[entry] + WORDING * told[entry] for entry in index.ids}
