"""Collectives of tensors that are not alike on all ranks, or that the group cannot send."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import argument, keyword, spreads_keywords
from distkb.evidence.readers.scripts.collectives import implied, is_operation
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import constant, dotted, last, shown
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.outside import Reason

_LENGTH, _CPU = "script.gathered-by-own-length", "script.cpu-tensor-over-nccl"
_GATHERS = {"all_gather": 1, "all_gather_into_tensor": 1, "all_gather_base": 1, "gather": 0, "gather_for_metrics": 0}
"""Collectives that need the same shape everywhere, and which argument holds the rank's own tensor."""
_ALIKE = ("pad_across_processes", "all_gather_object", "gather_object", "pad", "pad_sequence", "even_batches")
_BY_VALUE = frozenset({"nonzero", "masked_select", "unique", "argwhere", "generate"})
_MAKES = frozenset({"tensor", "zeros", "ones", "empty", "full", "arange", "as_tensor", "FloatTensor", "LongTensor"})
_SENDS = frozenset({"all_reduce", "broadcast", "reduce", "all_gather", "all_gather_into_tensor"})
_DEPTH = 5


def own_length(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield gathers of tensors that are as long as the rank's own data, or what it generated, made them."""
    if job.mentions(*_ALIKE):
        return
    for function, site in job.sites():
        call = site.node
        place = _GATHERS.get(last(call.func))
        if place is None or site.where.side != "both" or not (found := implied(call, function, job.project)):
            continue
        place = place if found.name.startswith("dist.") and last(call.func) != "gather" else 0
        given = keyword(call, "tensor") or (call.args[place] if len(call.args) > place else None)
        source = None if given is None else _by_value(given, function, job, 0)
        if source is not None:
            yield hit(_LENGTH, function, call, call=shown(call.func), tensor=shown(given or call), source=shown(source))


def _by_value(node: ast.expr, function: Function, job: ScriptContext, depth: int) -> ast.expr | None:
    """Return the expression that makes a tensor as long as its values, or the rank's part, say."""
    found: ast.expr | None = None
    if depth > _DEPTH:
        return found
    if isinstance(node, ast.Subscript):
        found = node if _is_mask(node.slice, function, job) else _by_value(node.value, function, job, depth + 1)
    elif isinstance(node, (ast.Name, ast.Attribute)) and dotted(node):
        value = job.project.walk(function).last_value(dotted(node), before=node.lineno)
        if value is not None and not isinstance(value, ast.List):
            found = _by_value(value, function, job, depth + 1)
        else:
            found = _put_in(dotted(node), function, job, depth + 1)
    elif isinstance(node, ast.Call) and last(node.func) in _BY_VALUE:
        found = node
    elif isinstance(node, ast.Call) and last(node.func) not in _FIXED:
        every = (_by_value(inner, function, job, depth + 1) for inner in _made_of(node))
        found = next((one for one in every if one is not None), None)
    return found


def _made_of(call: ast.Call) -> list[ast.expr]:
    """Return of what a call makes a tensor: what it is a method of, or what it joins."""
    own = isinstance(call.func, ast.Attribute) and (not dotted(call.func) or call.func.attr in _SAME)
    receiver = [call.func.value] if own and isinstance(call.func, ast.Attribute) else []
    return [*receiver, *(call.args[:1] if last(call.func) in {"cat", "concat", "stack", "tensor"} else [])]


_FIXED = frozenset({"mean", "sum", "max", "min", "norm", "item", "median", "std"})
"""Methods that leave one number."""
_SAME = frozenset(
    {"detach", "cuda", "to", "float", "contiguous", "clone", "cpu", "long", "squeeze", "unsqueeze", "half"}
)


def _put_in(name: str, function: Function, job: ScriptContext, depth: int) -> ast.expr | None:
    """Return what makes the length of a list of a function's, or of an object's methods, by its own data."""
    owner = function.owner if name.startswith("self.") else None
    for scope in owner.methods.values() if owner is not None else (function,):
        for put in job.project.walk(scope).puts.get(name, ()):
            value = put.node.args[0]
            found = _by_value(value, scope, job, depth)
            if found is not None:
                return found
            if any(
                r.origin in {"part", "rank"} for loop, at in _loops(put, scope, job) for r in _lengths(loop, at, job)
            ):
                return value
    return None


def _loops(put: Site, function: Function, job: ScriptContext) -> list[tuple[ast.stmt, Function]]:
    """Return the innermost loop around a call, or those around the calls of the method in which it stands."""
    if put.where.loops:
        return [(put.where.loops[-1], function)]
    return [(site.where.loops[-1], caller) for caller, site in job.project.callers(function) if site.where.loops]


def _lengths(loop: ast.stmt, function: Function, job: ScriptContext) -> list[Reason]:
    return job.origins.of_length(loop.iter, function) if isinstance(loop, ast.For) else []


def _is_mask(node: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether an index is a mask: a comparison of tensors, also by a name."""
    made = job.project.single(node, function) or node if isinstance(node, ast.Name) else node
    if isinstance(made, ast.UnaryOp) and isinstance(made.op, ast.Invert):
        made = made.operand
    if isinstance(made, ast.BinOp) and isinstance(made.op, (ast.BitAnd, ast.BitOr)):
        made = made.left
    return isinstance(made, ast.Compare) and not isinstance(made.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn))


def cpu_tensor(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield collectives of tensors on the CPU in a program whose only group is NCCL's."""
    if not _only_nccl(job) or job.mentions("set_default_device", "set_default_tensor_type", "gloo", "mpi"):
        return
    for function, call in job.calls():
        if not is_operation(call, function) or last(call.func) not in _SENDS or keyword(call, "group"):
            continue
        place = 1 if last(call.func) == "all_gather_into_tensor" else 0
        given = call.args[place] if len(call.args) > place else keyword(call, "tensor")
        if isinstance(given, ast.Name):
            made = job.project.walk(function).last_value(given.id, before=call.lineno)
            if made is not None and _on_cpu(made, function):
                yield hit(_CPU, function, call, call=shown(call.func), tensor=given.id, made=shown(made))
        elif given is not None and _on_cpu(given, function):
            yield hit(_CPU, function, call, call=shown(call.func), tensor=shown(given), made=shown(given))


def _only_nccl(job: ScriptContext) -> bool:
    begun = [(f, call) for f, call in job.calls() if last(call.func) == "init_process_group"]
    told = [constant(_backend(call, function, job)) for function, call in begun]
    return bool(told) and set(map(str, told)) == {"nccl"}


def _backend(call: ast.Call, function: Function, job: ScriptContext) -> ast.expr | None:
    """Return the backend that a call is told, also as an argument with a default that no caller changes."""
    told = argument(call, "backend", 0)
    if isinstance(told, ast.Name) and told.id in function.parameters:
        given = next(job.project.given(told.id, function), None)
        return given[0] if given is not None else function.default(told.id)
    return told


def _on_cpu(node: ast.expr, function: Function) -> bool:
    """Whether an expression makes a tensor of numbers, and says of no device."""
    if not isinstance(node, ast.Call) or last(node.func) not in _MAKES or keyword(node, "device"):
        return False
    names = {dotted(part) for part in nodes(node.func)}
    if "torch" not in names or spreads_keywords(node):
        return False
    return not any(isinstance(part, ast.With) and "device" in ast.dump(part.items[0]) for part in nodes(function.node))


RULES = (
    ScriptRule(ids=(_LENGTH,), check=own_length),
    ScriptRule(ids=(_CPU,), check=cpu_tensor),
)
