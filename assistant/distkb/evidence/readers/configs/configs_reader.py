"""From paths to findings: every configuration is read, and the rules look at all of them together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distkb.catalogue.settings import Refusal, Setting
from distkb.evidence.artifact import ArtifactReading, careful, find
from distkb.evidence.observation import Observation, Quote, Skipped
from distkb.evidence.readers.configs.item import ConfigPart, UnreadableConfigError
from distkb.evidence.readers.configs.job import ConfigContext, ConfigFinding
from distkb.evidence.readers.configs.load import inner_parts, is_named_so, load_parts
from distkb.evidence.text.clean import mask, quote_text
from distkb.evidence.text.opening import size_of
from distkb.evidence.walk import File

if TYPE_CHECKING:
    from distkb.evidence.readers.configs.job import ConfigRule

MAX_QUOTES = 6
MAX_FOUND = 100
"""Findings of one rule id; a file with more is hardly the file that was meant."""
MAX_FILES = 400
"""Files of one folder that are looked at."""


@careful
def read_configs(
    paths: Sequence[Path],
    settings: Sequence[Setting],
    versions: Mapping[str, str | None],
    load: Callable[[Path], list[ConfigPart] | Skipped] | None = None,
    refusals: Sequence[Refusal] = (),
) -> ArtifactReading:
    """Read the configurations of one job and check them, each by itself and against one another.

    `paths` are files of any kind that is known here; `versions` are the installed versions by distribution name, for
    what depends on them; `refusals` is what tools refuse of their files. A file that cannot be read becomes a
    `Skipped`, and the rest is still checked. `load` is `load_config` for a caller that keeps what was read.
    """
    from distkb.evidence.readers.configs.facts import facts_of
    from distkb.evidence.readers.configs.rules import RULES

    parts: list[ConfigPart] = []
    skipped: list[Skipped] = []
    for path in dict.fromkeys(paths):
        loaded = (load or load_config)(path)
        if isinstance(loaded, Skipped):
            skipped.append(loaded)
        else:
            parts += loaded
    parts += inner_parts(parts)
    job = ConfigContext(parts=parts, settings=settings, versions=versions, refusals=refusals)
    hits = list(_check(job, RULES))
    found = {hit.id for hit in hits}
    looked_for = {identity for rule in RULES if job.of(*rule.kinds) for identity in rule.ids}
    return ArtifactReading(
        observations=tuple(_observation(hit) for hit in hits),
        clear=tuple(sorted(looked_for - found)),
        facts=facts_of(job) if parts else {},
        skipped=tuple(skipped),
        bytes_read=sum(map(size_of, paths)),
    )


def load_config(path: Path) -> list[ConfigPart] | Skipped:
    """Return what a file configures, or why nothing of it is known."""
    try:
        return load_parts(path)
    except UnreadableConfigError as error:
        return Skipped(path=str(path), code=error.code, detail=quote_text(error.detail, width=120))


def _check(job: ConfigContext, rules: Sequence[ConfigRule]) -> Iterator[ConfigFinding]:
    counts: dict[str, int] = {}
    for rule in rules:
        for part in job.of(*rule.kinds):
            for hit in rule.check(part, job):
                counts[hit.id] = counts.get(hit.id, 0) + 1
                if counts[hit.id] <= MAX_FOUND:
                    yield hit


def _observation(hit: ConfigFinding) -> Observation:
    return Observation(
        id=hit.id,
        source="probe",
        quotes=tuple(dict.fromkeys(_quote(part, line) for part, line in hit.places))[:MAX_QUOTES],
        values={name: quote_text(value) for name, value in hit.values.items()},
        commands=tuple(map(mask, hit.commands)),
    )


def _quote(part: ConfigPart, line: int) -> Quote:
    lines = part.source.lines
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return Quote(text=quote_text(text), path=part.source.name, line=line)


class ConfigReader:
    """Configurations, launch scripts, and scripts that configure a job."""

    name = "config"
    most = MAX_FILES

    def __init__(
        self, settings: Sequence[Setting], versions: Mapping[str, str | None], refusals: Sequence[Refusal] = ()
    ) -> None:
        """Take what the keys are held to."""
        self._settings = settings
        self._versions = versions
        self._refusals = refusals

    def is_named(self, file: File) -> bool:
        """Never: many other things have such suffixes."""
        return file.given

    def may_hold(self, file: File) -> bool:
        """By its suffix; what turns out to be something else is left out without a word."""
        return is_named_so(file.path.name) and not file.tucked

    def holds(self, file: File) -> bool:
        """Whether any part of it configures a job."""
        return not isinstance(load_config(file.path), Skipped)

    def nothing_else(self, file: File) -> bool:  # noqa: ARG002 - the same for all of them
        """Always: none is a log."""
        return True

    def read(self, paths: Sequence[Path], said: Mapping[str, Any]) -> ArtifactReading:  # noqa: ARG002 - it needs none of it
        """Check them together as one job."""
        return read_configs(paths, self._settings, self._versions, refusals=self._refusals)


def find_configs(paths: Sequence[Path]) -> list[Path]:
    """Return the files under the given paths that configure a job."""
    return find(ConfigReader((), {}), paths)


def is_launch(loaded: list[ConfigPart] | Skipped) -> bool:
    """Whether a file that was read is a launch file: one that starts training or asks Slurm for a job."""
    return not isinstance(loaded, Skipped) and any(part.kind in ("command", "sbatch") for part in loaded)


class _LaunchReader(ConfigReader):
    """Launch files only."""

    def holds(self, file: File) -> bool:
        """Whether any line of it launches something."""
        return is_launch(load_config(file.path))


def find_launches(paths: Sequence[Path]) -> list[Path]:
    """Return the launch files under the given paths."""
    return find(_LaunchReader((), {}), paths)
