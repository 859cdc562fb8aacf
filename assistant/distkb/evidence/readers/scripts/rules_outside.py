"""What an optimizer steps beside a wrapped model, and no wrapper holds: its gradients stay the rank's own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.collectives import PARAMETERS
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.graphs import is_model
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import maker
from distkb.evidence.readers.scripts.names import canonical, dotted, last, shown

_OUTSIDE = "script.parameters-outside-ddp"
_WRAPS = frozenset({"prepare", "prepare_model", "DistributedDataParallel", "FullyShardedDataParallel", "fully_shard",
                    "setup", "setup_module", "initialize"})  # fmt: skip
_DEPTH = 6


class _Stepped(NamedTuple):
    """A module whose parameters an optimizer gets, or a single parameter, where it is named so."""

    node: ast.expr
    is_single: bool
    function: Function


def outside(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield optimizers that step a module or a parameter that no wrapper holds, beside one that a wrapper holds."""
    if job.mentions(
        "average_gradients",
        "all_reduce_coalesced",
        "fully_shard",
        "register_hook",
        "register_post_accumulate_grad_hook",
    ):
        return
    if job.mentions("all_reduce", "reduce") and job.mentions("grad"):
        return
    wrapped = _wrapped(job)
    for function, call in job.calls() if wrapped else ():
        if kinds.kind_of(call, function, job.project, call.lineno) != kinds.OPTIMIZER:
            continue
        owner = job.project.owner_of(function)
        if owner is not None and is_model(owner):
            continue
        given = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "params")]
        stepped = [one for argument in given for one in _stepped(argument, function, job, 0)]
        held = [one for one in stepped if _is_held(one.node, wrapped, one.function, job)]
        left = [one for one in stepped if one not in held and _is_trained(one, job)]
        if held and left:
            yield hit(_OUTSIDE, function, call, module=shown(left[0].node))


def _wrapped(job: ScriptContext) -> set[str]:
    """Return the names of everything that is given to a wrapper or to `prepare`, or that one gives back."""
    found: set[str] = set()
    for function, call in job.calls():
        if canonical(call.func, function.script).rpartition(".")[2] not in _WRAPS:
            continue
        found |= {dotted(_behind(one)) for one in call.args}
        for made in job.project.walk(function).assignments:
            if made.value is call or any(part is call for part in ast.walk(made.value)):
                found.add(made.target)
    return found - {""}


def _behind(node: ast.expr) -> ast.expr:
    """Return `model` of `model.to(device)`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node


def _stepped(node: ast.expr, function: Function, job: ScriptContext, depth: int) -> list[_Stepped]:
    """Return the modules whose parameters an expression holds, and single parameters."""
    if depth > _DEPTH:
        return []
    inner: list[ast.expr] = []
    own = job.project.target(node, function) if isinstance(node, ast.Call) else None
    if own is not None and own.name.endswith(".parameters") and own.owner is not None and not is_model(own.owner):
        every = [value for value, _ in job.project.walk(own).returns]
        return [one for value in every for one in _stepped(value, own, job, depth + 1)]
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in PARAMETERS:
            return [_Stepped(owner, False, function)]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            inner = parts
        case ast.Starred(value=inside):
            inner = [inside]
        case ast.Dict(keys=keys, values=values):
            inner = [v for k, v in zip(keys, values, strict=True) if getattr(k, "value", "") == "params"]
        case ast.BinOp(left=left, right=right):
            inner = [left, right]
        case ast.Call(func=called, args=given) if last(called) in {"chain", "list", "filter", "from_iterable"}:
            inner = given
        case ast.Name() | ast.Attribute():
            value = job.project.single(node, function)
            if value is None or (isinstance(value, ast.Call) and last(value.func) == "Parameter"):
                return [_Stepped(node, True, function)]
            return _stepped(value, function, job, depth + 1)
    return [one for part in inner for one in _stepped(part, function, job, depth + 1)]


def _is_held(node: ast.expr, wrapped: set[str], function: Function, job: ScriptContext) -> bool:
    """Whether a wrapper holds it, or what it is a part of."""
    here: ast.expr = node
    while isinstance(here, ast.Attribute):
        if dotted(here) in wrapped or kinds.kind_of(here, function, job.project) in {kinds.DDP, kinds.PREPARED}:
            return True
        here = here.value
    return dotted(here) in wrapped or kinds.kind_of(here, function, job.project) in {kinds.DDP, kinds.PREPARED}


def _is_trained(one: _Stepped, job: ScriptContext) -> bool:
    """Whether it is a parameter, or a module that is made for itself."""
    made = maker(one.node, one.function, job.project)
    if made is None or made.wrapped or made.prepared:
        return False
    name = canonical(made.call.func, made.function.script).rpartition(".")[2]
    return name == "Parameter" if one.is_single else name[:1].isupper()


RULES = (ScriptRule(ids=(_OUTSIDE,), check=outside),)
