"""The probes by name: how long each may take, and what it needs before it can start."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple


class Probe(NamedTuple):
    """One probe, on the command line and on the screen."""

    name: str
    needs: Literal["nothing", "files", "choices"]
    """What has to be given: nothing, files to read, or choices that only the command line offers."""
    deadline_s: float = 60.0
    """Where it starts processes: how long they may take."""

    @property
    def module(self) -> str:
        """Module of its command."""
        return f"distkb.cli.probe_{self.name.replace('-', '_')}"


PROBES: Final = (
    Probe("env", "nothing"),
    Probe("allreduce", "nothing"),
    Probe("fsdp", "files", 180.0),
    Probe("launch", "files"),
    Probe("loader", "choices", 120.0),
    Probe("trace", "files"),
    Probe("stacks", "nothing"),
    Probe("flight-recorder", "files"),
    Probe("script", "files"),
    Probe("network", "nothing", 40.0),
)
DEADLINES: Final = {probe.name: probe.deadline_s for probe in PROBES}
