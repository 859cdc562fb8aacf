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
    kind: Literal["collect", "probe"]
    """With its name, the step of a session that it answers."""
    deadline_s: float = 60.0


PROBES: dict[str, Probe] = {
    "stacks": Probe("look", "collect"),
    "env": Probe("run", "probe"),
    "allreduce": Probe("run", "probe"),
    "flight-recorder": Probe("path", "collect"),
    "trace": Probe("path", "collect"),
    "fsdp": Probe("path", "probe"),
    "script": Probe("path", "probe"),
    "loader": Probe("callable", "collect", 120.0),
    "network": Probe("commands", "probe"),
}
"""Every probe, in the order in which the list shows them."""


def step_of(name: str) -> str:
    """Return the step of a session that a probe answers."""
    return f"{PROBES[name].kind}.{name}"
