"""What the facts of the environment probe mean: pure functions from facts to observations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distkb.evidence.observation import Observation
from distkb.probing.env import contract, devices, launch, libraries, machine, network, port, schedulers
from distkb.probing.env.verdict import EnvVerdict
from distkb.probing.env.view import View

__all__ = ["judge"]

_AREAS = (
    contract.judge,
    launch.judge,
    port.judge,
    network.judge,
    devices.judge,
    schedulers.judge,
    machine.judge,
    libraries.judge,
)


def judge(facts: Mapping[str, Any]) -> tuple[list[Observation], list[str]]:
    """Return what is wrong in the collected environment, and the ids of what was looked for and is not there.

    `facts` are those of `distkb_probes.env`; what is missing in them is not judged.
    """
    view = View.of(facts)
    verdict = EnvVerdict()
    for area in _AREAS:
        area(view, verdict)
    return verdict.found(), verdict.clear()
