"""What comes before the process group exists, and timeouts without a unit."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import keyword, spreads_keywords
from distkb.evidence.readers.scripts.collectives import is_operation
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.rules_workers import tried

_EARLY, _UNIT = "script.group-used-before-it-exists", "script.timeout-as-number"
_ASKS = frozenset({"get_rank", "get_world_size", "new_group", "get_backend"})
_BEGINS = "torch.distributed.init_process_group"
_MAKES = frozenset(
    {
        _BEGINS,
        "torch.distributed.device_mesh.init_device_mesh",
        "torch.distributed.init_device_mesh",
        "deepspeed.init_distributed",
        "deepspeed.initialize",
    }
)
_FRAMEWORKS = frozenset({"Accelerator", "PartialState", "Fabric", "Trainer", "TrainingArguments"})
"""Classes that make the process group themselves."""
_CHECKS = frozenset({"is_initialized", "is_available", "is_torchelastic_launched"})
_TAKES = frozenset({"init_process_group", "new_group", "InitProcessGroupKwargs", "DDPStrategy", "FSDPStrategy",
                    "monitored_barrier", "new_subgroups"})  # fmt: skip
"""Calls whose `timeout` is a timedelta (torch 2, accelerate 1, lightning 2)."""


def too_early(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield questions to the default group, and calls of it, above the line of the same function that makes it."""
    for function in job.project.functions:
        sites = job.project.walk(function).sites
        made = next((site for site in sites if _begins(site, function, job)), None)
        if made is None or not made.where.certain:
            continue
        if any(_makes_otherwise(one, function, job) for one in sites if one.node.lineno < made.node.lineno):
            continue
        for site in sites:
            above = site.node.lineno < made.node.lineno and not any(part is site.node for part in nodes(made.node))
            asks = _asks(site.node, function)
            if above and asks and site.where.certain and not site.where.loops and not _is_checked(site, function):
                yield hit(_EARLY, function, site.node, call=shown(site.node), made_line=str(made.node.lineno))
                break


def _begins(site: Site, function: Function, job: ScriptContext) -> bool:
    """Whether a call makes the default group, or runs a function of the project that surely does."""
    if canonical(site.node.func, function.script) == _BEGINS:
        return True
    target = job.project.target(site.node, function)
    if target is None or target is function or target.name.endswith("__init__"):
        return False
    inside = (one for one in job.project.walk(target).sites if canonical(one.node.func, target.script) == _BEGINS)
    return any(one.where.certain and one.where.side == "both" for one in inside)


def _asks(call: ast.Call, function: Function) -> bool:
    """Whether a call needs the default group, as a sampler does that is not told its rank."""
    full = canonical(call.func, function.script)
    if full.startswith("torch.utils.data.") and last(call.func) == "DistributedSampler":
        return len(call.args) < 2 and keyword(call, "num_replicas") is None and not spreads_keywords(call)
    operates = last(call.func) in _ASKS or is_operation(call, function)
    return full.startswith("torch.distributed.") and operates


def _makes_otherwise(site: Site, function: Function, job: ScriptContext) -> bool:
    """Whether a call makes the group in another way, or runs a function of the project that does."""
    full = canonical(site.node.func, function.script)
    if full in _MAKES or full.rpartition(".")[2] in _FRAMEWORKS or full.endswith("destroy_process_group"):
        return True
    below = job.project.below(site.node, function)
    return any(canonical(one.node.func, target.script) in _MAKES for target, one in below)


def _is_checked(site: Site, function: Function) -> bool:
    """Whether the call stands behind a question whether there is a group, or in a `try`."""
    tested = any(words(test) & _CHECKS for test in site.where.tests) or bool(words(site.statement) & _CHECKS)
    if tested or id(site.node) in tried(function):
        return True
    return bool({word for test in site.where.tests for word in words(test)} & {"initialized", "rank"})


def as_number(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield timeouts that are written as a number where a timedelta is asked for."""
    for function, call in job.calls() if job.mentions("timeout") else ():
        name = canonical(call.func, function.script).rpartition(".")[2]
        value = keyword(call, "timeout") if name in _TAKES else None
        number = constant(job.project.single(value, function) or value) if value is not None else None
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            yield hit(_UNIT, function, call, call=name, value=str(number))


RULES = (
    ScriptRule(ids=(_EARLY,), check=too_early),
    ScriptRule(ids=(_UNIT,), check=as_number),
)
