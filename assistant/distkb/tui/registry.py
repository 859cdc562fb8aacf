"""The probes that the screen offers: what each needs before it can run."""

from __future__ import annotations

from typing import Literal

import msgspec

Way = Literal["run", "look", "path", "callable", "commands"]
"""`run`: a key press is enough. `look`: a job that runs here. `path`: files to read. `callable`: a function of the
user's that builds what is looked at. `commands`: it needs a second machine, so its commands are shown."""


class Probe(msgspec.Struct, frozen=True):
    """One probe."""

    way: Way
    step: str
    """The step of a session that it answers."""
    deadline_s: float = 60.0


PROBES: dict[str, Probe] = {
    "stacks": Probe("look", "collect.stacks"),
    "env": Probe("run", "probe.env"),
    "allreduce": Probe("run", "probe.allreduce"),
    "flight-recorder": Probe("path", "collect.flight-recorder"),
    "trace": Probe("path", "collect.trace"),
    "fsdp": Probe("path", "probe.fsdp"),
    "script": Probe("path", "probe.script"),
    "loader": Probe("callable", "collect.loader", 120.0),
    "network": Probe("commands", "probe.network"),
}
"""Every probe, in the order in which the list shows them."""
