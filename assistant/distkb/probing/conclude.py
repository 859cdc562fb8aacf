"""What distkb concludes from the facts of a probe with the help of the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from distkb.catalogue.model import Catalogue
from distkb.evidence.observation import Observation, Quote, absent
from distkb.settings.timeouts import TimerReading, explain, to_builtins

FRAMEWORKS = ("accelerate", "transformers", "deepspeed", "lightning")
_LAUNCHERS = {"TORCHELASTIC_RUN_ID": "torchrun", "CROSS_SIZE": "deepspeed", "SLURM_JOB_ID": "slurm"}
"""A variable that only this launcher sets; the first that is there counts."""
_MOST_QUOTES = 8


class EnvironmentConclusion(msgspec.Struct, frozen=True, kw_only=True):
    """What the environment means for a run."""

    observations: tuple[Observation, ...]
    timers: tuple[TimerReading, ...]

    def timer_facts(self) -> list[dict[str, Any]]:
        """Return the timers as plain data."""
        return to_builtins(self.timers)


def conclude_env(
    facts: Mapping[str, Any], catalogue: Catalogue, observed: Iterable[Observation] = ()
) -> EnvironmentConclusion:
    """Judge the collected environment: its contract, its names, and the timers that it moves.

    `observed` is what stands in the run's logs, where there are any: it says which timer ran out.
    """
    from distkb.probing.env import judge

    environment: Mapping[str, str] = facts.get("environment") or {}
    versions: Mapping[str, str | None] = facts.get("versions") or {}
    found, clear = judge(facts)
    timers = explain(
        catalogue.timers,
        catalogue.settings,
        environment,
        versions,
        backend="nccl" if facts.get("gpus") else "gloo",
        launcher=next((name for variable, name in _LAUNCHERS.items() if variable in environment), None),
        frameworks=[name for name in FRAMEWORKS if versions.get(name)],
        observations=observed,
    )
    return EnvironmentConclusion(observations=(*found, *_settings(facts, catalogue), *absent(clear)), timers=timers)


def conclude_tasks(
    facts: Mapping[int, Mapping[str, Any]], catalogue: Catalogue, observed: Iterable[Observation] = ()
) -> tuple[Observation, ...]:
    """Judge the environments of all tasks of a step as one; `observed` is what stands in the run's logs."""
    from distkb.probing.env import tasks

    placed = {number: {**own, "environment_path": tasks.place(number, own)} for number, own in facts.items()}
    each = {number: conclude_env(own, catalogue, observed).observations for number, own in placed.items()}
    return tuple(tasks.together(each, placed))


def _settings(facts: Mapping[str, Any], catalogue: Catalogue) -> tuple[Observation, ...]:
    """Judge the names of every environment there is; what several ranks share is said once, with all its places."""
    from distkb.settings.lint import lint

    versions: Mapping[str, str | None] = facts.get("versions") or {}
    merged: dict[tuple[str, tuple[tuple[str, str], ...]], Observation] = {}
    for environment, path, rank in _environments(facts):
        for observation in lint(catalogue.settings, catalogue.names, environment, versions):
            quotes = tuple(
                Quote(
                    text=quote.text, path=_place(facts, observation) or path, line=_line(facts, observation), rank=rank
                )
                for quote in observation.quotes
            )
            key = (observation.id, tuple(sorted(observation.values.items())))
            old = merged.get(key)
            together = (*(old.quotes if old else ()), *quotes)[:_MOST_QUOTES]
            merged[key] = msgspec.structs.replace(observation, quotes=together)
    return tuple(merged.values())


def _environments(facts: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, str], str, int | None]]:
    """Yield every environment with where it was read and the rank that has it."""
    processes = [p for p in facts.get("processes") or () if p.get("environment")]
    from_files = {row["name"]: row["value"] for row in facts.get("nccl_files") or ()}
    if not processes:
        path = str(facts.get("environment_path") or "environment")
        # A variable of the environment wins over the same name in NCCL's own files.
        yield {**from_files, **(facts.get("environment") or {})}, path, None
    for process in processes:
        rank = process.get("rank")
        yield process["environment"], f"/proc/{process['pid']}/environ", rank if isinstance(rank, int) else None


def _file_row(facts: Mapping[str, Any], observation: Observation) -> Mapping[str, Any] | None:
    name = observation.values.get("name")
    if name in (facts.get("environment") or {}):
        return None
    return next((row for row in facts.get("nccl_files") or () if row["name"] == name), None)


def _place(facts: Mapping[str, Any], observation: Observation) -> str | None:
    row = _file_row(facts, observation)
    return None if row is None else str(row["path"])


def _line(facts: Mapping[str, Any], observation: Observation) -> int | None:
    row = _file_row(facts, observation)
    return None if row is None else int(row["line"])
