"""Learning rate schedules under Accelerate, which steps a prepared one once for every process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import keyword, spreads_keywords
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, words

_SETTINGS = {"split_batches": True, "step_scheduler_with_optimizer": False}
"""Settings of Accelerator with which a prepared schedule is stepped once per call (accelerate/scheduler.py)."""
AWARE = frozenset({"num_processes", "world_size", "get_world_size", "nprocs", "WORLD_SIZE"})


def stepped_per_process(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield steps once an epoch of a prepared schedule whose length does not count the processes."""
    if not job.mentions("accelerate") or steps_once(job):
        return
    for function in job.project.functions:
        prepared = _prepared(function, job)
        walk = job.project.walk(function)
        updates = [site for site in walk.sites if last(site.node.func) in {"backward", "step"} and site.where.loops]
        deepest = max((len(site.where.loops) for site in updates), default=0)
        for site in updates:
            name = dotted(site.node.func.value) if isinstance(site.node.func, ast.Attribute) else ""
            if name in prepared and last(site.node.func) == "step" and len(site.where.loops) < deepest:
                yield hit("script.schedule-stepped-per-epoch", function, site.node, scheduler=name)


def steps_once(job: ScriptContext) -> bool:
    """Whether an Accelerator is told to step a schedule once per call, or may be by settings that are not seen."""
    for _, call in job.calls():
        if last(call.func) == "Accelerator":
            given = {name: keyword(call, name) for name in (*_SETTINGS, "dataloader_config")}
            if given["dataloader_config"] is not None or spreads_keywords(call):
                return True
            if any(value is not None and constant(value) is not (not _SETTINGS[name])
                   for name, value in given.items() if name in _SETTINGS):  # fmt: skip
                return True
    return False


def _prepared(function: Function, job: ScriptContext) -> frozenset[str]:
    """Return the names that hold a schedule that `prepare` was given, and that counts no processes."""
    walk = job.project.walk(function)
    given = {
        dotted(argument)
        for site in walk.sites
        if last(site.node.func) == "prepare"
        for argument in site.node.args
        if dotted(argument)
    }
    return frozenset(
        made.target
        for made in walk.assignments
        if made.target in given
        and isinstance(made.value, ast.Call)
        and "lr_scheduler" in canonical(made.value.func, function.script)
        and not words(made.value) & AWARE
    )


def counted_on_part(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield prepared schedules whose length was counted on a prepared loader: it runs out too soon."""
    if not job.mentions("accelerate") or steps_once(job):
        return
    told: set[int] = set()
    for event in job.events("update"):
        schedule = event.things[0]
        source = schedule.marks.get("per-process")
        if schedule.prepared and source is not None and id(event.node) not in told:
            told.add(id(event.node))
            yield hit("script.schedule-of-prepared-length", event.function, event.node, length=shown(source))


RULES = (
    ScriptRule(ids=("script.schedule-stepped-per-epoch",), check=stepped_per_process),
    ScriptRule(ids=("script.schedule-of-prepared-length",), check=counted_on_part, follows=True),
)
