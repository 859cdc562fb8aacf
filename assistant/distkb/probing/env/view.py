"""The facts of the environment probe, read defensively: they come from another process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from distkb.evidence.observation import Quote
from distkb.probing.env.verdict import quote


class EnvProcess(msgspec.Struct, frozen=True, kw_only=True):
    """One process of the run, or the environment in which one would start."""

    path: str
    """Where its environment was read: `environment`, or `/proc/PID/environ`."""
    environment: dict[str, str]
    pid: int | None = None
    details: dict[str, Any] = {}

    def get(self, name: str) -> str | None:
        """Return the value of a variable."""
        return self.environment.get(name)

    def number(self, name: str) -> int | None:
        """Return the value of a variable as torch's int() reads it; None where it is unset or no integer."""
        return integer(self.environment.get(name))

    @property
    def rank(self) -> int | None:
        """The global rank, where it is set."""
        return self.number("RANK")

    @property
    def launched(self) -> bool:
        """Whether a launcher, or somebody in its place, gave this process a rank."""
        return "RANK" in self.environment or "LOCAL_RANK" in self.environment

    @property
    def elastic(self) -> bool:
        """Whether torchrun (or accelerate through it) started this process."""
        return "TORCHELASTIC_RUN_ID" in self.environment

    @property
    def lightning(self) -> bool:
        """Whether Lightning started this process: it sets all but RANK, and hands the rank over by argument."""
        return "RANK" not in self and all(name in self for name in ("LOCAL_RANK", "NODE_RANK", "WORLD_SIZE"))

    @property
    def local_world(self) -> int | None:
        """The ranks of this machine: LOCAL_WORLD_SIZE, which DeepSpeed's launcher calls LOCAL_SIZE."""
        known = self.number("LOCAL_WORLD_SIZE")
        return self.number("LOCAL_SIZE") if known is None else known

    def quote(self, *names: str) -> list[Quote]:
        """Return one quote with `NAME=value` for those of the names that are set; none where none is."""
        text = " ".join(f"{name}={self.environment[name]}" for name in names if name in self)
        return [quote(text, self.path, self.rank)] if text else []

    def __contains__(self, name: str) -> bool:
        return name in self.environment


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The facts in the form in which they are judged."""

    facts: dict[str, Any]
    here: EnvProcess | None
    """The environment that is judged: the shell's, or that of the first rank of a live launch."""
    ranks: tuple[EnvProcess, ...]
    """The processes of a live launch; empty where none was named."""

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> View:
        """Read the facts of a document."""
        ranks = tuple(
            EnvProcess(
                path=f"/proc/{item['pid']}/environ",
                environment=_texts(item.get("environment")),
                pid=item["pid"],
                details=item,
            )
            for item in records(facts.get("processes"))
            if isinstance(item.get("pid"), int)
        )
        here = None
        if ranks:
            here = ranks[0]
        elif isinstance(facts.get("environment"), dict) and facts.get("environment_path") is not None:
            here = EnvProcess(path=str(facts["environment_path"]), environment=_texts(facts["environment"]))
        return cls(facts=dict(facts), here=here, ranks=ranks)

    @property
    def live(self) -> bool:
        """Whether a running launch was looked at."""
        return bool(self.ranks)

    @property
    def everyone(self) -> tuple[EnvProcess, ...]:
        """The processes of the launch, or the one environment there is."""
        return self.ranks or ((self.here,) if self.here else ())

    def part(self, *names: str) -> dict[str, Any]:
        """Return a nested fact, empty where it is missing."""
        value: Any = self.facts
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        return value if isinstance(value, dict) else {}

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return a fact that is a list of records."""
        return records(self.facts.get(name))

    @property
    def requested(self) -> dict[str, Any]:
        """What the user says about the launch that is planned."""
        return self.part("request")

    @property
    def nodes(self) -> tuple[int, tuple[str, ...]]:
        """How many machines the run spans, with the variables that say so; (1, ()) where nothing does."""
        return _nodes(self.here, self.requested)


def integer(text: object) -> int | None:
    """Return a text as an integer, None where it is none."""
    try:
        return int(str(text)) if text is not None else None
    except ValueError:
        return None


def number(value: object) -> float:
    """Return a number of the facts, 0 where it is none."""
    return float(value) if isinstance(value, (int, float)) else 0.0


def records(value: object) -> list[dict[str, Any]]:
    """Return the records of a list, an empty one where it is no list."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def texts(value: object) -> list[str]:
    """Return the items of a list as texts, an empty one where it is no list."""
    return [str(item) for item in value] if isinstance(value, list) else []


def _nodes(here: EnvProcess | None, requested: dict[str, Any]) -> tuple[int, tuple[str, ...]]:
    if here is not None:
        groups = here.number("GROUP_WORLD_SIZE")
        if groups is not None and here.elastic:
            return max(1, groups), ("GROUP_WORLD_SIZE",)
        world, local = here.number("WORLD_SIZE"), here.local_world
        if world is not None and local:
            return max(1, -(-world // local)), ("WORLD_SIZE", "LOCAL_WORLD_SIZE", "LOCAL_SIZE")
    asked = requested.get("nnodes")
    if isinstance(asked, int):
        return max(1, asked), ()
    if here is not None:
        for name in ("SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"):
            number = here.number(name)
            if number is not None and "WORLD_SIZE" in here and (here.number("WORLD_SIZE") or 0) > 1:
                return max(1, number), ("WORLD_SIZE", name)
    return 1, ()


def _texts(value: object) -> dict[str, str]:
    return {str(name): str(text) for name, text in value.items()} if isinstance(value, dict) else {}
