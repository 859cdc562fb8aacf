"""The probes by name: what each needs before it can run, and how long it may take."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Way = Literal["run", "look", "path", "callable", "peer"]
"""What the screen does with it. `run`: a key press is enough. `look`: a job that runs here. `path`: files to read.
`callable`: a function of the user's that builds what is looked at. `peer`: another machine, which is waited for or
named."""


class Probe(NamedTuple):
    """One probe, on the command line and on the screen."""

    way: Way
    step: str
    """The step of a session that it answers."""
    deadline_s: float = 60.0
    """Where it starts processes: how long they may take."""


PROBES: Final = {
    "stacks": Probe("look", "collect.stacks"),
    "env": Probe("run", "probe.env"),
    "allreduce": Probe("run", "probe.allreduce"),
    "flight-recorder": Probe("path", "collect.flight-recorder"),
    "trace": Probe("path", "collect.trace"),
    "fsdp": Probe("path", "probe.fsdp", 180.0),
    "launch": Probe("path", "probe.fsdp"),
    "script": Probe("path", "probe.script"),
    "loader": Probe("callable", "collect.loader", 120.0),
    "network": Probe("peer", "probe.network", 40.0),
}
"""Every probe, in the order in which lists show them."""


def module_of(name: str) -> str:
    """Return the module of a probe's command."""
    return f"distkb.cli.probe_{name.replace('-', '_')}"
