"""Training steps that go past the DeepSpeed engine."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import dotted
from distkb.evidence.readers.scripts.nodes import nodes

_BACKWARD, _STEP = "script.backward-past-engine", "script.step-past-engine"
_BESIDE = "script.backward-beside-engine"


def past_engine(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield `loss.backward()` on a loss that an engine's forward gave, and `step()` of the optimizer it was given.

    DeepSpeed 0.18.3 and later take the former in bf16 and fp32 as long as the engine makes the step.
    """
    if not job.mentions("deepspeed"):
        return
    for function in job.project.functions:
        engines = _engines(function, job)
        if not engines:
            continue
        engine = min(engines)
        losses, given = _losses(function, engines), _given_optimizers(job)
        walk = job.project.walk(function)
        through = {dotted(s.node.func) for s in walk.sites}
        for site in walk.sites:
            call = site.node
            helped = _helped(call, function, losses, job)
            if helped and site.where.certain and not any(f"{e}.backward" in through for e in engines):
                stepped = any(f"{e}.step" in through for e in engines)
                yield hit(_BESIDE if stepped else _BACKWARD, function, call, loss=helped, engine=engine)
            if not isinstance(call.func, ast.Attribute) or not site.where.certain:
                continue
            owner = dotted(call.func.value)
            if (
                call.func.attr == "backward"
                and owner in losses
                and not any(f"{e}.backward" in through for e in engines)
            ):
                stepped = any(f"{e}.step" in through for e in engines)
                yield hit(_BESIDE if stepped else _BACKWARD, function, call, loss=owner, engine=engine)
            elif (
                call.func.attr == "step"
                and owner not in engines
                and owner in given
                and not any(f"{e}.step" in through for e in engines)
                and kinds.kind_of(call.func.value, function, job.project, call.lineno) == kinds.OPTIMIZER
            ):
                yield hit(_STEP, function, call, optimizer=owner, engine=engine)


def _engines(function: Function, job: ScriptContext) -> set[str]:
    """Return the names that surely hold an engine where the function calls them."""
    return {
        dotted(site.node.func)
        for site in job.project.walk(function).sites
        if dotted(site.node.func)
        and kinds.kind_of(site.node.func, function, job.project, site.node.lineno) == kinds.ENGINE
    }


def _losses(function: Function, engines: set[str]) -> set[str]:
    """Return the names (`loss`, `outputs.loss`) of what the forward of an engine gave, also through a criterion."""
    made: set[str] = set()
    losses: set[str] = set()
    for node in nodes(function.node):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target = node.targets[0]
        names = {dotted(t) for t in (target.elts if isinstance(target, ast.Tuple) else [target])}
        used = {dotted(part) for part in nodes(node.value) if isinstance(part, (ast.Name, ast.Attribute))}
        calls = {dotted(part.func) for part in nodes(node.value) if isinstance(part, ast.Call)}
        if calls & engines or (used & made):
            made |= names
    losses |= made | {f"{name}.loss" for name in made}
    return losses


def _helped(call: ast.Call, function: Function, losses: set[str], job: ScriptContext) -> str:
    """Return the loss that a call hands to a function of the project which calls its `backward`."""
    target = job.project.target(call, function)
    if target is None:
        return ""
    names = target.parameters[1:] if target.is_method else target.parameters
    called = {dotted(site.node.func) for site in job.project.walk(target).sites}
    given = zip(names, map(dotted, call.args), strict=False)
    return next((loss for name, loss in given if loss in losses and f"{name}.backward" in called), "")


def _given_optimizers(job: ScriptContext) -> set[str]:
    found: set[str] = set()
    for _, call in job.calls():
        if dotted(call.func).endswith("deepspeed.initialize"):
            found |= {dotted(w.value) for w in call.keywords if w.arg == "optimizer"}
    return found - {""}


RULES = (ScriptRule(ids=(_BACKWARD, _BESIDE, _STEP), check=past_engine),)
