"""Reads everything of a repository that can be wrong before a run: scripts, launch files and configurations.

The scripts are one project. A launch file is one job with the configurations and scripts that it names; the
configurations of a folder that no launch file names are one job only where no two of them are of one kind, so that
files of different jobs are not held against one another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath

import msgspec

from distkb.catalogue.settings import Refusal, Setting
from distkb.evidence.artifact import Sorter
from distkb.evidence.observation import Observation, Skipped
from distkb.evidence.readers.configs import ConfigReader, is_launch, load_config, read_configs
from distkb.evidence.readers.configs.item import ConfigPart
from distkb.evidence.readers.scripts import ScriptReader, read_scripts
from distkb.evidence.text.opening import start_of
from distkb.evidence.walk import take_stock

_MOST_BYTES = 4 << 20
_NAMED = frozenset(" \t\r\n\"'`=;|&()<>,{}")


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in all of the files."""

    files: tuple[Path, ...]
    """Those that were read."""
    observations: tuple[Observation, ...]
    skipped: tuple[Skipped, ...]


def read_repository(paths: Sequence[Path], settings: Sequence[Setting], refusals: Sequence[Refusal] = ()) -> Repository:
    """Read the files under the given paths; nothing of them is imported or run."""
    stock = take_stock(tuple(paths))
    load = cache(load_config)
    may_be = Sorter(ScriptReader()), ConfigReader((), {})
    scripts: list[Path] = []
    configs: list[Path] = []
    for file in stock.files:
        if may_be[0].takes(file):
            scripts.append(file.path)
        if may_be[1].may_hold(file) and not isinstance(load(file.path), Skipped):
            configs.append(file.path)
        file.forget()
    skipped = [*stock.skipped]
    if may_be[0].passed_over:
        skipped.append(Skipped(path=str(paths[0]), code="too-many", detail=str(len(scripts))))
    kinds = {path: _kinds(load(path)) for path in configs}
    jobs = _jobs(kinds, [path for path in configs if is_launch(load(path))])
    readings = [read_configs(job, settings, {}, load, refusals) for job in jobs]
    spreads = {spread for reading in readings if (spread := reading.facts.get("parallelism"))}
    read = read_scripts(scripts, spread=min(spreads) if len(spreads) == 1 else "")
    found = list(read.observations)
    for reading in readings:
        found += (o for o in reading.observations if o not in found)
        skipped += (one for one in reading.skipped if one.code == "failed")
    return Repository(
        files=tuple(dict.fromkeys((*scripts, *configs))),
        observations=tuple(found),
        skipped=(*skipped, *read.skipped),
    )


def _kinds(loaded: Sequence[ConfigPart] | Skipped) -> frozenset[str]:
    return frozenset() if isinstance(loaded, Skipped) else frozenset(part.kind for part in loaded)


def _jobs(configs: Mapping[Path, frozenset[str]], launches: Sequence[Path]) -> list[list[Path]]:
    """Return the configurations as jobs: each launch file with what it names, and the rest of each folder.

    The rest is one job where each of its files is of another kind, such as Accelerate's file and the Trainer's;
    of two files of one kind nobody knows which is used, and each stands alone.
    """
    others = {path: path.name for path in configs if path not in launches}
    jobs = [[path, *_named_by(path, others)] for path in launches]
    taken = {path for job in jobs for path in job}
    folders: dict[Path, list[Path]] = {}
    for path in others:
        if path not in taken:
            folders.setdefault(path.parent, []).append(path)
    for rest in folders.values():
        kinds = [kind for path in rest for kind in configs[path]]
        jobs += [rest] if len(set(kinds)) == len(kinds) else [[path] for path in rest]
    return jobs


def _named_by(launch: Path, others: dict[Path, str]) -> list[Path]:
    """Return the files that a launch file names, the nearest where several have one name."""
    try:
        text = start_of(launch, _MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    words = {PurePosixPath(word).name for word in "".join(" " if c in _NAMED else c for c in text).split()}
    named: dict[str, list[Path]] = {}
    for path, name in others.items():
        if name in words:
            named.setdefault(name, []).append(path)
    return [max(same, key=lambda path: _near(path, launch)) for same in named.values()]


def _near(path: Path, launch: Path) -> int:
    """Return how many folders two files share."""
    count = 0
    for one, other in zip(path.parent.parts, launch.parent.parts, strict=False):
        if one != other:
            break
        count += 1
    return count
