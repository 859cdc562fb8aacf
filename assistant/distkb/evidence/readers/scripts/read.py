"""From paths to findings: every script is parsed, and the rules look at all of them as one project."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from distkb.evidence.artifact import ArtifactReading
from distkb.evidence.inventory import SOURCE_PRUNED
from distkb.evidence.observation import Observation, Quote, Skipped
from distkb.evidence.readers.scripts import (
    rules_branches,
    rules_data,
    rules_decisions,
    rules_device,
    rules_engine,
    rules_files,
    rules_launch,
    rules_model,
    rules_resume,
    rules_sharding,
)
from distkb.evidence.readers.scripts.facts import facts_of
from distkb.evidence.readers.scripts.hit import Hit, Job, Rule
from distkb.evidence.readers.scripts.project import Project
from distkb.evidence.readers.scripts.source import Script, load_script
from distkb.evidence.text.clean import quote_text
from distkb.evidence.text.opening import UnreadableError, open_regular

RULES: tuple[Rule, ...] = (
    *rules_branches.RULES,
    *rules_decisions.RULES,
    *rules_model.RULES,
    *rules_resume.RULES,
    *rules_device.RULES,
    *rules_data.RULES,
    *rules_engine.RULES,
    *rules_sharding.RULES,
    *rules_files.RULES,
    *rules_launch.RULES,
)
MAX_FILES = 400
"""Scripts read in one call."""
MAX_TOTAL = 24 << 20
"""Bytes of all scripts together."""
MAX_FOUND = 60
"""Findings of one rule id."""
MAX_QUOTES = 4
_HEAD = 512


def find_scripts(paths: Sequence[Path]) -> list[Path]:
    """Return the Python files under the given paths, at most `MAX_FILES`; a file that is named itself always counts.

    Files without the suffix count where their first line starts Python.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if not path.is_dir():
            if path.suffix == ".py" or _starts_python(path):
                found.setdefault(path)
            continue
        for file in _below(path):
            if len(found) >= MAX_FILES:
                return list(found)
            found.setdefault(file)
    return list(found)


def _below(root: Path) -> Iterator[Path]:
    for directory, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SOURCE_PRUNED and not name.startswith("."))
        for name in sorted(names):
            file = Path(directory, name)
            if name.endswith(".py") and _is_filled(file):
                yield file


def _is_filled(path: Path) -> bool:
    """Whether a file has any content; an empty `__init__.py` is no script and no mistake."""
    try:
        return path.stat().st_size > 1
    except OSError:
        return True


def _starts_python(path: Path) -> bool:
    try:
        with open_regular(path) as raw:
            first = raw.read(_HEAD).partition(b"\n")[0]
    except (OSError, ValueError, UnreadableError):
        return False
    return first.startswith(b"#!") and b"python" in first


def read_scripts(paths: Sequence[Path]) -> ArtifactReading:
    """Read scripts as one project and check them; nothing of them is imported or run.

    A file that cannot be read or parsed becomes a `Skipped`, and the rest is still checked.
    """
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
    job = Job(Project(scripts))
    hits = _check(job) if _is_distributed(job) else []
    found = {hit.id for hit in hits}
    looked_for = {identity for rule in RULES for identity in rule.ids} if _is_distributed(job) else set()
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


def _is_distributed(job: Job) -> bool:
    """Whether any script trains with one of the libraries whose rules are known here."""
    targets = [target for script in job.project.scripts for target in script.imports.values()]
    roots = {target.partition(".")[0] for target in targets}
    return bool(roots & _ROOTS) or "torch" in roots


def _check(job: Job) -> list[Hit]:
    hits: list[Hit] = []
    counts: dict[str, int] = {}
    for rule in RULES:
        for hit in rule.check(job):
            counts[hit.id] = counts.get(hit.id, 0) + 1
            if counts[hit.id] <= MAX_FOUND:
                hits.append(hit)
    return sorted(hits, key=lambda hit: (hit.script.name, hit.line, hit.id))


def _observation(hit: Hit) -> Observation:
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
