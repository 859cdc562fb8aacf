"""Forwards past DDP in classes: of the bare model kept as an attribute, or taken out by a Trainer's loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import WITHOUT_GRADIENTS, dotted, last, shown
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.rules_wrappers import OF_MODULES

_PAST = "script.forward-past-ddp"
_LOSSES = (".compute_loss", ".training_step")
_DEPTH = 3


def past_in_classes(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield trained forwards of the model that an object keeps beside its DDP, or that a Trainer's loss unwraps."""
    for function in job.project.functions:
        names = _unwrapped_in_loss(function) or _kept_bare(function, job)
        if not names or any(last(one) in WITHOUT_GRADIENTS for one in _decorators(function)):
            continue
        for site in job.project.walk(function).sites:
            owner = _called_on(site)
            if owner in names and not site.where.entered & WITHOUT_GRADIENTS:
                yield hit(_PAST, function, site.node, call=shown(site.node.func))
                break


def _decorators(function: Function) -> Iterator[ast.expr]:
    for one in getattr(function.node, "decorator_list", ()):
        yield one.func if isinstance(one, ast.Call) else one


def _called_on(site: Site) -> str:
    """Return the model that a call runs: `net` of `net(x)` and of `net.encode(x)`."""
    named = site.node.func
    if isinstance(named, ast.Attribute) and named.attr not in OF_MODULES and dotted(named.value):
        whole = dotted(named)
        return whole if whole.startswith("self.") and whole.count(".") == 1 else dotted(named.value)
    return dotted(named)


def _unwrapped_in_loss(function: Function) -> set[str]:
    """Return the names of the bare model in the loss of a Trainer: `model.module`, or the model where there is none."""
    if not function.name.endswith(_LOSSES) or not any(last(base).endswith("Trainer") for base in function.bases):
        return set()
    found: set[str] = set()
    for node in nodes(function.node):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = node.value.body if isinstance(node.value, ast.IfExp) else node.value
            module = isinstance(value, ast.Attribute) and value.attr == "module" and last(value.value) == "model"
            if module or (isinstance(value, ast.Call) and last(value.func) == "unwrap_model"):
                found.add(node.targets[0].id)
    return found


def _kept_bare(function: Function, job: ScriptContext) -> set[str]:
    """Return the attributes that hold the module inside of a DDP, in a method whose results are trained on."""
    owner = function.owner
    if owner is None or not _is_trained(function, job, 0):
        return set()
    return {f"self.{name}" for name, values in job.project.attribute_values(owner).items()
            if values and all(_is_bare(value, owner, job) for value in values)}  # fmt: skip


def _is_bare(value: ast.expr, owner: Class, job: ScriptContext) -> bool:
    if not isinstance(value, ast.Attribute) or value.attr != "module":
        return False
    method = next(iter(owner.methods.values()))
    return kinds.kind_of(value.value, method, job.project) == kinds.DDP


def _is_trained(function: Function, job: ScriptContext, depth: int) -> bool:
    """Whether a method makes a backward, or one that calls it does."""
    if job.project.walk(function).calls("backward"):
        return True
    callers = job.project.callers(function) if depth < _DEPTH else ()
    return any(
        not site.where.entered & WITHOUT_GRADIENTS and _is_trained(caller, job, depth + 1) for caller, site in callers
    )


RULES = (ScriptRule(ids=(_PAST,), check=past_in_classes),)
