"""Layers that are recomputed or divided by name: checkpointed blocks that decide anew, plans that name nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import argument
from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, walk
from distkb.evidence.readers.scripts.nodes import nodes

_DECIDES, _PLAN = "script.checkpointed-block-decides", "script.plan-names-nothing"
_DRAWS = ("random.", "numpy.random.")
"""Random numbers that checkpointing does not put back; it does so with torch's."""


def decides_anew(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield branches of a checkpointed block that hang on a number which is another one when it is recomputed."""
    told: set[int] = set()
    for cls in _recomputed_by_library(job):
        forward = job.project.method(cls, "forward")
        for block in (forward, *_methods(forward, job)) if forward is not None else ():
            test = _unsteady(block)
            if test is not None and id(test) not in told:
                told.add(id(test))
                yield hit(_DECIDES, block, test, test=shown(test), checkpoint_line=str(cls.node.lineno))
    for function, call in job.calls() if job.mentions("checkpoint") else ():
        if not canonical(call.func, function.script).startswith("torch.utils.checkpoint.") or not call.args:
            continue
        for block in _blocks(call.args[0], function, job):
            test = _unsteady(block) or next(filter(None, map(_unsteady, _methods(block, job))), None)
            if test is not None and id(test) not in told:
                told.add(id(test))
                yield hit(_DECIDES, block, test, test=shown(test), checkpoint_line=str(call.lineno))


def _recomputed_by_library(job: ScriptContext) -> Iterator[Class]:
    """Yield the blocks of models of Transformers that checkpoint where a training asks for it."""
    if not job.mentions("gradient_checkpointing", "gradient_checkpointing_enable"):
        return
    for cls in {id(f.owner): f.owner for f in job.project.functions if f.owner is not None}.values():
        if any(last(base) == "GradientCheckpointingLayer" for base in cls.node.bases):
            yield cls
    for _, call in job.calls():
        if last(call.func) != "_gradient_checkpointing_func" or not call.args:
            continue
        for function in job.project.functions:
            if any(other.node is call for other in job.project.walk(function).sites):
                given = call.args[0]
                block = (
                    given.value if isinstance(given, ast.Attribute) and given.attr in {"__call__", "forward"} else given
                )
                yield from _of_list(block, function, job)


def _methods(block: Function, job: ScriptContext) -> list[Function]:
    """Return the methods of the same object that a block's forward calls."""
    found = (job.project.target(site.node, block) for site in job.project.walk(block).sites)
    return [one for one in found if one is not None and one.owner is block.owner and block.owner is not None]


def _blocks(node: ast.expr, function: Function, job: ScriptContext) -> Iterator[Function]:
    """Yield the functions that a checkpoint runs: one that is named, or the forward of a layer or of a list of them."""
    named = job.project.referred(node, function)
    cls = job.project.holds_class(node, function)
    if cls is not None:
        named = job.project.method(cls, "forward")
    if named is not None:
        yield named
        return
    for made in _of_list(node, function, job):
        forward = job.project.method(made, "forward")
        if forward is not None:
            yield forward


def _of_list(node: ast.expr, function: Function, job: ScriptContext) -> Iterator[Class]:
    """Yield the classes in the list that a loop goes through: `for block in self.blocks`."""
    for loop in walk(function.node):
        if not isinstance(loop, ast.For) or dotted(node) not in {dotted(part) for part in nodes(loop.target)}:
            continue
        for name in {dotted(part) for part in nodes(loop.iter)}:
            if name.startswith("self.") and function.owner is not None:
                for value in job.project.attribute_values(function.owner).get(name[5:], []):
                    for part in nodes(value):
                        cls = (
                            job.project.class_named(part.func, function.script) if isinstance(part, ast.Call) else None
                        )
                        if cls is not None:
                            yield cls


def _unsteady(block: Function) -> ast.expr | None:
    """Return a test on a random number that is not put back, or on what the block itself counts."""
    counted = {
        dotted(node.target)
        for node in walk(block.node)
        if isinstance(node, ast.AugAssign) and dotted(node.target).startswith("self.")
    }
    drawn_sizes = {"sample", "randint", "randrange", "choice", "choices", "permutation"}
    for node in walk(block.node):
        sized = isinstance(node, ast.Call) and last(node.func) in drawn_sizes
        if sized and isinstance(node, ast.Call) and canonical(node.func, block.script).startswith(_DRAWS):
            return node
        test = node.test if isinstance(node, (ast.If, ast.IfExp)) else None
        for part in nodes(test) if test is not None else ():
            drawn = isinstance(part, ast.Call) and canonical(part.func, block.script).startswith(_DRAWS)
            if drawn or (isinstance(part, ast.Attribute) and dotted(part) in counted):
                return test
    return None


def names_nothing(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield names in a plan of tensor parallelism that no class of the project gives to any of its layers."""
    known = _layer_names(job) if job.mentions("parallelize_module") else set()
    for function, call in job.calls() if known else ():
        plan = argument(call, "parallelize_plan", 2)
        if last(call.func) != "parallelize_module" or plan is None or not call.args:
            continue
        value = job.project.single(plan, function) if dotted(plan) else plan
        if not isinstance(value, ast.Dict) or kinds.model_class(call.args[0], function, job.project) is None:
            continue
        for key in value.keys:
            name = constant(key)
            lost = [] if not isinstance(name, str) else [p for p in name.split(".") if p and not _fits(p, known)]
            if lost and key is not None:
                yield hit(_PLAN, function, key, name=str(name), part=lost[0])
                return


def _fits(part: str, known: set[str]) -> bool:
    return part.isdigit() or any(mark in part for mark in "*?[") or part in known


def _layer_names(job: ScriptContext) -> set[str]:
    """Return every name that is given to an attribute or a key: what a layer may be called."""
    found: set[str] = set()
    for script in job.project.scripts:
        for node in script.nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
            elif isinstance(node, ast.Call):
                found |= {word.arg for word in node.keywords if word.arg}
                if last(node.func) in {"add_module", "register_module", "setattr"}:
                    return set()
            elif isinstance(node, (ast.Tuple, ast.List)) or (isinstance(node, ast.Dict) and not _is_plan(node)):
                parts = node.keys if isinstance(node, ast.Dict) else node.elts
                found |= {str(constant(part)) for part in parts if isinstance(part, ast.Constant)}
    return found


def _is_plan(node: ast.Dict) -> bool:
    return any(isinstance(value, ast.Call) and "Parallel" in last(value.func) for value in node.values)


RULES = (
    ScriptRule(ids=(_DECIDES,), check=decides_anew),
    ScriptRule(ids=(_PLAN,), check=names_nothing),
)
