"""Groups that are made or used once for each element of a set, which every process has in an order of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.collectives import is_operation, makes_group
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import constant, last, shown
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.rules_order import body_of, of_numbers

_OVER = "script.groups-over-set"
_DEPTH = 3
"""Functions in one another in which such a call is looked for."""


def over_set(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield loops over a set in which each round makes a group, or waits for the ranks of one."""
    if not job.mentions("new_group") or job.mentions("PYTHONHASHSEED"):
        return
    told: set[int] = set()
    for event in job.events("loop"):
        source = event.source
        if source is None or not told.isdisjoint((id(event.node), id(source))) or of_numbers(source):
            continue
        told.add(id(event.node))
        calls = (node for part in body_of(event.node) for node in nodes(part) if isinstance(node, ast.Call))
        found = next((call for call in calls if _meets(call, event.function, job)), None)
        if found is not None:
            told.add(id(source))
            over = getattr(event.node, "iter", None) or event.node.generators[0].iter  # type: ignore[union-attr]
            values = {"call": shown(found.func), "over": shown(over), "made": shown(source)}
            made = next((s for s in job.project.scripts if any(node is source for node in s.nodes)), None)
            place = hit(_OVER, event.function, event.node, **values)
            yield place if made is None else msgspec.structs.replace(place, more=((made, source.lineno),))


def _meets(call: ast.Call, function: Function, job: ScriptContext, depth: int = 0) -> bool:
    """Whether a call makes a group, or is a collective of a group of its own, by itself or in a helper."""
    if makes_group(call, function):
        return constant(keyword(call, "use_local_synchronization")) is not True
    if is_operation(call, function):
        group = keyword(call, "group")
        return group is not None and constant(group) is not None and last(group) != "WORLD"
    below = job.project.below(call, function) if depth < _DEPTH else ()
    return any(_meets(site.node, target, job, depth + 1) for target, site in below)


RULES = (ScriptRule(ids=(_OVER,), check=over_set, follows=True),)
