"""From paths to findings: every configuration is read, and the rules look at all of them together."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from distkb.catalogue.settings import Setting
from distkb.evidence.artifact import ArtifactReading
from distkb.evidence.inventory import SOURCE_PRUNED
from distkb.evidence.observation import Observation, Quote, Skipped
from distkb.evidence.readers.configs import (
    rules_accelerate,
    rules_arguments,
    rules_deepspeed,
    rules_fsdp,
    rules_keys,
    rules_launch,
    rules_lightning,
    rules_rendezvous,
    rules_shell,
    rules_slurm,
)
from distkb.evidence.readers.configs.facts import facts_of
from distkb.evidence.readers.configs.item import Part, UnreadableConfigError
from distkb.evidence.readers.configs.job import Hit, Job, Rule
from distkb.evidence.readers.configs.load import SUFFIXES, inner_parts, load_parts
from distkb.evidence.text.clean import quote_text

RULES: tuple[Rule, ...] = (
    *rules_keys.RULES,
    *rules_accelerate.RULES,
    *rules_fsdp.RULES,
    *rules_deepspeed.RULES,
    *rules_arguments.RULES,
    *rules_launch.RULES,
    *rules_slurm.RULES,
    *rules_rendezvous.RULES,
    *rules_shell.RULES,
    *rules_lightning.RULES,
)
MAX_QUOTES = 6
MAX_FOUND = 100
"""Findings of one rule id; a file with more is hardly the file that was meant."""
MAX_FILES = 400
"""Files of one folder that are looked at."""


def read_configs(
    paths: Sequence[Path], settings: Sequence[Setting], versions: Mapping[str, str | None]
) -> ArtifactReading:
    """Read the configurations of one job and check them, each by itself and against one another.

    `paths` are files of any kind that is known here; `versions` are the installed versions by distribution name, for
    what depends on them. A file that cannot be read becomes a `Skipped`, and the rest is still checked.
    """
    parts: list[Part] = []
    skipped: list[Skipped] = []
    for path in dict.fromkeys(paths):
        loaded = _load(path)
        if isinstance(loaded, Skipped):
            skipped.append(loaded)
        else:
            parts += loaded
    parts += inner_parts(parts)
    job = Job(parts=parts, settings=settings, versions=versions)
    hits = list(_check(job))
    found = {hit.id for hit in hits}
    looked_for = {identity for rule in RULES if job.of(*rule.kinds) for identity in rule.ids}
    return ArtifactReading(
        observations=tuple(_observation(hit) for hit in hits),
        clear=tuple(sorted(looked_for - found)),
        facts=facts_of(job) if parts else {},
        skipped=tuple(skipped),
        bytes_read=sum(map(_size, paths)),
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _load(path: Path) -> list[Part] | Skipped:
    try:
        return load_parts(path)
    except UnreadableConfigError as error:
        return Skipped(path=str(path), code=error.code, detail=quote_text(error.detail, width=120))


def _check(job: Job) -> Iterator[Hit]:
    counts: dict[str, int] = {}
    for rule in RULES:
        for part in job.of(*rule.kinds):
            for hit in rule.check(part, job):
                counts[hit.id] = counts.get(hit.id, 0) + 1
                if counts[hit.id] <= MAX_FOUND:
                    yield hit


def _observation(hit: Hit) -> Observation:
    return Observation(
        id=hit.id,
        source="probe",
        quotes=tuple(dict.fromkeys(_quote(part, line) for part, line in hit.places))[:MAX_QUOTES],
        values={name: quote_text(value) for name, value in hit.values.items()},
        commands=hit.commands,
    )


def _quote(part: Part, line: int) -> Quote:
    lines = part.source.lines
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return Quote(text=quote_text(text), path=part.source.name, line=line)


def find_configs(paths: Sequence[Path]) -> list[Path]:
    """Return the files under the given paths that configure a job, for a reader that was given folders.

    Only names that configurations have are opened; what turns out to be something else is left out without a word.
    """
    found: list[Path] = []
    for path in paths:
        candidates = _candidates(path) if path.is_dir() else [path]
        found += [
            file for file in candidates if file.suffix.lower() in SUFFIXES and not isinstance(_load(file), Skipped)
        ]
    return list(dict.fromkeys(found))


def _candidates(root: Path) -> Iterator[Path]:
    seen = 0
    for directory, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SOURCE_PRUNED and not name.startswith("."))
        for name in sorted(names):
            if Path(name).suffix.lower() in SUFFIXES:
                seen += 1
                if seen > MAX_FILES:
                    return
                yield Path(directory, name)
