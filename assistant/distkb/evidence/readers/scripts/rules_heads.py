"""Attention whose layers tensor parallelism cuts, and that goes on computing with all of its heads."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import keyword, receiver
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import made_by, meanings
from distkb.evidence.readers.scripts.names import constant, dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes

_HEADS = "script.view-of-all-heads"
_VIEWS = frozenset({"view", "reshape", "unflatten", "rearrange"})
_LOCAL = re.compile(
    r"(?i)^(?:.*_)?(?:tp|world|mesh|local|shard|size|shape|degree|parallel)(?:_.*)?$|world_size|tp_size"
)
"""Words of a number of heads that is the rank's own."""
_DIVIDES = "parallelize_module"
_LEAST = 4
"""Dimensions of a view that has one for the heads: batch, length, heads, size of a head."""


def all_heads(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield views with the number of all heads of what a layer gives that the plan cuts by columns."""
    cut = _cut_layers(job) if job.mentions("ColwiseParallel") and job.mentions("parallelize_module") else {}
    for function, call in job.calls() if cut else ():
        heads = _heads_of(call) if last(call.func) in _VIEWS else None
        if heads is None or _is_local(heads, function, job):
            continue
        given = call.args[0] if last(call.func) == "rearrange" else None
        given = given or receiver(call)
        layer = _layer(given, function, job, cut) if given is not None else ""
        if layer:
            yield hit(_HEADS, function, call, view=shown(call), heads=shown(heads), layer=layer,
                      plan_line=str(cut[layer.rpartition(".")[2]]))  # fmt: skip


def _cut_layers(job: ScriptContext) -> dict[str, int]:
    """Return the last parts of the names that a plan cuts by columns into plain local tensors, with their lines."""
    found: dict[str, int] = {}
    for script in job.project.scripts:
        for node in script.nodes:
            pairs: list[tuple[ast.expr | None, ast.expr]] = []
            match node:
                case ast.Dict(keys=keys, values=values):
                    pairs = list(zip(keys, values, strict=True))
                case ast.DictComp(key=key, value=value):
                    pairs = [(key, value)]
                case ast.Assign(targets=[ast.Subscript(slice=key)], value=value):
                    pairs = [(key, value)]
                case ast.Call(func=func, args=[ast.Attribute() as layer, _, given]) if (
                    last(func) == "parallelize_module"
                ):
                    pairs = [(ast.Constant(value=layer.attr), given)]
            for named, style in pairs:
                name = _last_text(named) if named is not None and _cuts(style) else ""
                if name:
                    found[name.rpartition(".")[2]] = style.lineno
    return found


def _cuts(style: ast.expr) -> bool:
    """Whether a style leaves each rank the local part of the output as a plain tensor."""
    if not isinstance(style, ast.Call) or last(style.func) != "ColwiseParallel":
        return False
    whole = keyword(style, "output_layouts")
    return whole is None and constant(keyword(style, "use_local_output")) is not False


def _last_text(node: ast.expr) -> str:
    """Return what a name ends in that is written out, or put together in an f-string or a sum."""
    if isinstance(node, ast.JoinedStr) and node.values:
        return str(constant(node.values[-1]) or "")
    if isinstance(node, ast.BinOp):
        return _last_text(node.right)
    return str(constant(node) or "")


def _heads_of(call: ast.Call) -> ast.expr | None:
    """Return what a view takes as the number of heads."""
    if last(call.func) == "rearrange":
        return next((word.value for word in call.keywords if word.arg in {"h", "heads", "n_heads", "head"}), None)
    sizes = list(call.args)
    if len(sizes) == 1 and isinstance(sizes[0], (ast.Tuple, ast.List)):
        sizes = sizes[0].elts
    if last(call.func) == "unflatten" and len(call.args) > 1 and isinstance(call.args[1], (ast.Tuple, ast.List)):
        sizes = [ast.Constant(value=0)] * (_LEAST - len(call.args[1].elts)) + call.args[1].elts
    if len(sizes) < _LEAST or any(isinstance(size, ast.Starred) for size in sizes):
        return None
    heads = sizes[-2]
    return heads if isinstance(heads, (ast.Name, ast.Attribute)) else None


def _is_local(heads: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether the number of heads is divided somewhere, set on the layer from outside, or read off a tensor."""
    if last(heads) in job.attributes_set or any(_LOCAL.match(word) for word in words(heads)):
        return True
    for value, _ in meanings(heads, function, job.project):
        divides = any(
            isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv)) for node in nodes(value)
        )
        if divides or (isinstance(value, ast.UnaryOp)) or any(_LOCAL.match(word) for word in words(value)):
            return True
    return False


def _layer(given: ast.expr, function: Function, job: ScriptContext, cut: dict[str, int]) -> str:
    """Return the layer among those that are cut whose output a value is."""
    for value, scope in meanings(given, function, job.project):
        called = dotted(value.func) if isinstance(value, ast.Call) else ""
        if called.startswith("self.") and called.count(".") == 1 and called[5:] in cut and scope.owner is not None:
            made = job.project.attribute_values(scope.owner).get(called[5:], [])
            init = scope.owner.methods.get("__init__", scope)
            if any(full.endswith("Linear") for one in made for full, _, _ in made_by(one, init, job.project)):
                return called
    return ""


RULES = (ScriptRule(ids=(_HEADS,), check=all_heads),)
