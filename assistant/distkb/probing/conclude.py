"""What distkb concludes from the facts of a probe with the help of the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from distkb.catalogue.model import Catalogue
from distkb.evidence.observation import Observation
from distkb.settings.timeouts import TimerReading, explain, to_builtins

FRAMEWORKS = ("accelerate", "transformers", "deepspeed", "lightning")


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
    from distkb.settings.lint import lint

    environment: Mapping[str, str] = facts.get("environment") or {}
    versions: Mapping[str, str | None] = facts.get("versions") or {}
    found, clear = judge(facts)
    absent = tuple(Observation(id=identity, source="probe", present=False) for identity in clear)
    timers = explain(
        catalogue.timers,
        catalogue.settings,
        environment,
        versions,
        backend="nccl" if facts.get("gpus") else "gloo",
        launcher=_launcher(environment),
        frameworks=[name for name in FRAMEWORKS if versions.get(name)],
        observations=observed,
    )
    settings = lint(catalogue.settings, catalogue.names, environment, versions)
    return EnvironmentConclusion(observations=(*found, *settings, *absent), timers=timers)


def _launcher(environment: Mapping[str, str]) -> str | None:
    if "TORCHELASTIC_RUN_ID" in environment:
        return "torchrun"
    return "slurm" if "SLURM_JOB_ID" in environment else None
