"""From paths to findings: every script is parsed, and the rules look at all of them as one project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from distkb.evidence.artifact import ArtifactReading
from distkb.evidence.observation import Observation, Quote, Skipped
from distkb.evidence.readers.scripts.facts import facts_of
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule
from distkb.evidence.readers.scripts.imported import with_imported
from distkb.evidence.readers.scripts.project import Project
from distkb.evidence.readers.scripts.rules import RULES
from distkb.evidence.readers.scripts.scripts_reader import MAX_FILES
from distkb.evidence.readers.scripts.settings import settings_of
from distkb.evidence.readers.scripts.source import Script, load_script
from distkb.evidence.text.clean import quote_text

MAX_TOTAL = 24 << 20
"""Bytes of all scripts together."""
MAX_FOUND = 60
"""Findings of one rule id."""
MAX_QUOTES = 4


def analyse(paths: Sequence[Path], *, follow: bool, spread: str = "") -> ArtifactReading:
    """Read scripts as one project, with `follow` the modules that they import too, and check them."""
    scripts: list[Script] = []
    skipped: list[Skipped] = []
    given = list(dict.fromkeys(paths))
    left = MAX_TOTAL
    for path in given[:MAX_FILES]:
        if left <= 0:
            skipped.append(Skipped(path=str(path), code="too-many", detail=str(len(scripts))))
            break
        loaded = load_script(path)
        if isinstance(loaded, Skipped):
            skipped.append(loaded)
        else:
            scripts.append(loaded)
            left -= loaded.size
    if len(given) > MAX_FILES:
        skipped.append(Skipped(path=str(given[MAX_FILES]), code="too-many", detail=str(MAX_FILES)))
    if follow:
        scripts = with_imported(scripts)
    job = ScriptContext(Project(scripts, spread, settings_of(scripts) if follow else None))
    hits = _check(job, RULES) if _is_distributed(job) else []
    found = {hit.id for hit in hits}
    whole = [rule for rule in RULES if not (rule.follows and job.interpreter.is_cut)] if _is_distributed(job) else []
    looked_for = {identity for rule in whole for identity in rule.ids}
    return ArtifactReading(
        observations=tuple(_observation(hit) for hit in hits),
        clear=tuple(sorted(looked_for - found)),
        facts=facts_of(job),
        project=job.project if scripts else None,
        skipped=tuple(skipped),
        bytes_read=sum(script.size for script in scripts),
    )


_ROOTS = frozenset(
    {"accelerate", "deepspeed", "lightning", "pytorch_lightning", "lightning_fabric", "transformers", "trl"}
)


def _is_distributed(job: ScriptContext) -> bool:
    """Whether any script trains with one of the libraries whose rules are known here."""
    targets = [target for script in job.project.scripts for target in script.imports.values()]
    roots = {target.partition(".")[0] for target in targets}
    return bool(roots & _ROOTS) or "torch" in roots


def _check(job: ScriptContext, rules: Sequence[ScriptRule]) -> list[ScriptFinding]:
    hits: list[ScriptFinding] = []
    counts: dict[str, int] = {}
    for rule in rules:
        for hit in rule.check(job):
            counts[hit.id] = counts.get(hit.id, 0) + 1
            if counts[hit.id] <= MAX_FOUND:
                hits.append(hit)
    return sorted(hits, key=lambda hit: (hit.script.name, hit.line, hit.id))


def _observation(hit: ScriptFinding) -> Observation:
    places = dict.fromkeys(((id(hit.script), hit.line), *((id(script), line) for script, line in hit.more)))
    scripts = {id(script): script for script in (hit.script, *(script for script, _ in hit.more))}
    return Observation(
        id=hit.id,
        source="probe",
        quotes=tuple(_quote(scripts[key], line) for key, line in places)[:MAX_QUOTES],
        values={name: quote_text(value) for name, value in hit.values.items()},
    )


def _quote(script: Script, line: int) -> Quote:
    text = script.lines[line - 1] if 0 < line <= len(script.lines) else ""
    return Quote(text=quote_text(text), path=quote_text(script.name), line=line)
