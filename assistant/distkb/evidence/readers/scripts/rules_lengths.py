"""Schedules whose length, or whose fixed steps, do not count the processes as the loop that steps them does."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import Made, maker
from distkb.evidence.readers.scripts.names import canonical, dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.rules_schedule import AWARE, stepped_per_process, steps_once

_FOLLOWED = 4
"""Names and functions in one another through which a length is followed."""
_FIXED = {"MultiStepLR": ("milestones", 1), "StepLR": ("step_size", 1), "ExponentialLR": ("gamma", 1),
          "get_constant_schedule_with_warmup": ("num_warmup_steps", 1), "SequentialLR": ("milestones", 2)}  # fmt: skip
"""Schedules that have no length of their own, and the argument that says when they change."""
_AT_STEPS = frozenset({"StepLR", "ExponentialLR"})
_LENGTHS = {"OneCycleLR": ("total_steps", 2), "CosineAnnealingLR": ("T_max", 1), "LambdaLR": ("lr_lambda", 1),
            "get_linear_schedule_with_warmup": ("num_training_steps", 2), "LinearLR": ("total_iters", 3),
            "get_cosine_schedule_with_warmup": ("num_training_steps", 2), "PolynomialLR": ("total_iters", 1),
            "get_scheduler": ("num_training_steps", 3)}  # fmt: skip
"""Schedules that end, and the argument that says when."""


def _stepped(job: ScriptContext) -> Iterator[tuple[Function, ast.Call, Made, bool]]:
    """Yield steps of a schedule in a loop, with the one call that made it, and whether the loop makes updates."""
    for function, site in job.sites():
        func = site.node.func
        if not isinstance(func, ast.Attribute) or func.attr != "step" or not site.where.loops or site.node.args:
            continue
        made = maker(func.value, function, job.project, site.node.lineno)
        if made is not None:
            inside = {id(part) for part in nodes(site.where.loops[-1])}
            sites = job.project.walk(function).sites
            updates = any(last(s.node.func) == "backward" and id(s.node) in inside for s in sites)
            deepest = any(isinstance(part, ast.For) and part is not site.where.loops[-1] and _trains(part)
                          for part in nodes(site.where.loops[-1]))  # fmt: skip
            yield function, site.node, made, updates and not deepest


def _trains(loop: ast.For) -> bool:
    return any(isinstance(part, ast.Call) and last(part.func) == "backward" for part in nodes(loop))


def fixed_and_prepared(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield prepared schedules that change at fixed steps or epochs, which come num_processes times too early."""
    if not job.mentions("accelerate") or steps_once(job):
        return
    told: set[int] = set()
    each_epoch = {finding.line for finding in stepped_per_process(job)}
    for function, call, made, is_batch in _stepped(job):
        name = canonical(made.call.func, made.function.script).rpartition(".")[2]
        if is_batch and name in _AT_STEPS:
            continue  # so many steps may well be meant
        if made.prepared and name in _FIXED and id(made.call) not in told and call.lineno not in each_epoch:
            told.add(id(made.call))
            if _is_aware(made, job):
                continue
            yield hit("script.fixed-schedule-prepared", function, call, scheduler=name, setting=_FIXED[name][0])


def _is_aware(made: Made, job: ScriptContext) -> bool:
    """Whether what a schedule is made of counts the processes, by itself or by what its names stand for."""
    parts = [part for part in nodes(made.call) if isinstance(part, (ast.Name, ast.Attribute))]
    behind = (job.project.single(part, made.function) for part in parts)
    return bool(words(made.call) & AWARE) or any(words(value) & AWARE for value in behind if value is not None)


def divided_and_prepared(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield prepared schedules whose length is divided by the number of processes already."""
    if not job.mentions("accelerate") or steps_once(job):
        return
    for function, call, made, _ in _stepped(job):
        length = _length_of(made) if made.prepared else None
        source = None if length is None else _division(length, made.function, job, 0)
        if source is not None and length is not None and not _is_multiplied(length, made.function, job, 0):
            yield hit("script.schedule-of-divided-length", function, call, length=shown(source))


def _length_of(made: Made) -> ast.expr | None:
    """Return what says how long a schedule is."""
    name = canonical(made.call.func, made.function.script).rpartition(".")[2]
    word, place = _LENGTHS.get(name, ("", 99))
    return keyword(made.call, word) or (made.call.args[place] if len(made.call.args) > place else None)


def _division(node: ast.expr, function: Function, job: ScriptContext, depth: int) -> ast.expr | None:
    """Return the division by the number of processes in an expression or in what its names and calls stand for."""
    steps = {one.arg for part in nodes(node) if isinstance(part, ast.Lambda) for one in part.args.args}
    for part in nodes(node) if depth < _FOLLOWED else ():
        divides = isinstance(part, ast.BinOp) and isinstance(part.op, (ast.Div, ast.FloorDiv))
        if divides and isinstance(part, ast.BinOp) and _counts_processes(part.right, function, job):
            if words(part.left) & steps:
                continue  # how far a schedule is, which is no length
            return part
        inner: list[tuple[ast.expr, Function]] = []
        if isinstance(part, ast.Name):
            value = job.project.single(part, function)
            inner = [(value, function)] if value is not None else []
        elif isinstance(part, ast.Call):
            inner = job.project.returned(part, function)
        for value, scope in inner:
            found = _division(value, scope, job, depth + 1)
            if found is not None:
                return found
    return None


def _is_multiplied(node: ast.expr, function: Function, job: ScriptContext, depth: int) -> bool:
    """Whether the number of processes itself is a factor of a value, or of what its names stand for."""
    if isinstance(node, ast.Name):
        value = job.project.single(node, function) if depth < _FOLLOWED else None
        return value is not None and _is_multiplied(value, function, job, depth + 1)
    if isinstance(node, ast.Call):
        return any(_is_multiplied(part, function, job, depth) for part in node.args)
    if not isinstance(node, ast.BinOp):
        return False
    if isinstance(node.op, ast.Mult) and not {last(node.left), last(node.right)}.isdisjoint(AWARE):
        return True
    sides = (node.left,) if isinstance(node.op, (ast.Div, ast.FloorDiv)) else (node.left, node.right)
    return any(_is_multiplied(side, function, job, depth) for side in sides)


def _counts_processes(node: ast.expr, function: Function, job: ScriptContext) -> bool:
    if words(node) & AWARE:
        return True
    names = (part.id for part in nodes(node) if isinstance(part, ast.Name) and part.id in function.parameters)
    return any(words(value) & AWARE for name in names for value, _ in job.project.given(name, function))


def counted_on_all(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield schedules, stepped once a batch, whose length counts the batches of all ranks, so that they never end."""
    if not job.is_parallel:
        return
    told: set[int] = set()
    for function, call, made, is_batch in _stepped(job):
        length = None if made.prepared or not is_batch or id(made.call) in told else _length_of(made)
        source = None if length is None else _whole_length(length, made.function, job, 0)
        if source is not None:
            told.add(id(made.call))
            yield hit("script.schedule-of-whole-length", function, call, length=shown(source))


def _whole_length(node: ast.expr, function: Function, job: ScriptContext, depth: int) -> ast.expr | None:
    """Return the `len(…)` of a data set that a sampler divides, or of a loader that is prepared later."""
    if words(node) & AWARE or depth > _FOLLOWED:
        return None
    for part in nodes(node):
        if isinstance(part, ast.Name) and (value := job.project.single(part, function)) is not None:
            found = _whole_length(value, function, job, depth + 1)
            if found is not None:
                return found
        if isinstance(part, ast.Call) and last(part.func) == "len" and part.args and _is_whole(part, function, job):
            return part
    return None


def _is_whole(length: ast.Call, function: Function, job: ScriptContext) -> bool:
    name = dotted(length.args[0])
    for site in job.project.walk(function).sites if name else ():
        call = site.node
        if last(call.func) == "DistributedSampler" and call.args and dotted(call.args[0]) == name:
            return keyword(call, "num_replicas") is None
        if last(call.func) == "prepare" and call.lineno > length.lineno and name in map(dotted, call.args):
            return job.mentions("Accelerator")
    return False


def cycle_too_short(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield cycles that are built for the rank's batches divided by the number of processes once more."""
    for function, call in job.calls():
        if last(call.func) != "OneCycleLR" or job.mentions("accelerate"):
            continue
        steps = keyword(call, "steps_per_epoch") or keyword(call, "total_steps")
        found = None if steps is None else _division(steps, function, job, 0)
        if isinstance(found, ast.BinOp) and any(_is_divided(part, function, job) for part in nodes(found.left)):
            yield hit("script.cycle-too-short", function, call, length=shown(found))


def _is_divided(node: ast.AST, function: Function, job: ScriptContext) -> bool:
    """Whether an expression is the length of a loader with a sampler that divides the data."""
    if not isinstance(node, ast.Call) or last(node.func) != "len" or not node.args:
        return False
    loader = maker(node.args[0], function, job.project, node.lineno)
    sampler = None if loader is None else keyword(loader.call, "sampler")
    made = None if loader is None or sampler is None else maker(sampler, loader.function, job.project)
    return made is not None and last(made.call.func) == "DistributedSampler"


RULES = (
    ScriptRule(ids=("script.fixed-schedule-prepared",), check=fixed_and_prepared),
    ScriptRule(ids=("script.schedule-of-divided-length",), check=divided_and_prepared),
    ScriptRule(ids=("script.schedule-of-whole-length",), check=counted_on_all),
    ScriptRule(ids=("script.cycle-too-short",), check=cycle_too_short),
)
