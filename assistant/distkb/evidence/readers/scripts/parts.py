"""Parts of a model that are picked by name, and which of them a script shards as units of their own."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import msgspec

from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.names import dotted, last, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.project import Project

SHARDS = ("fully_shard", "FullyShardedDataParallel", "FSDP", "FullyShardedDataParallelPlugin", "FSDPStrategy",
          "ModelParallelStrategy")  # fmt: skip
_CALLS = frozenset({"fully_shard", "FullyShardedDataParallel", "FSDP", "FullyShardedDataParallelPlugin",
                    "FSDPStrategy", "wrap"})  # fmt: skip
_EVERY = frozenset({"modules", "named_modules", "children", "named_children", "apply", "size_based_auto_wrap_policy",
                    "always_wrap_policy"})  # fmt: skip
"""Names with which a script goes through all parts of a model."""
_DEPTH = 3


class Part(msgspec.Struct, frozen=True, eq=False):
    """A call of a part of a model that was picked by its name."""

    call: ast.Call
    whole: ast.expr
    """From which it was picked: `self.heads`, `self`."""
    function: Function


def picked_parts(
    body: Sequence[ast.AST], names: set[str], function: Function, project: Project, depth: int = 0
) -> Iterator[Part]:
    """Yield the calls of parts that one of the names picks, in a piece of code and in the functions that it calls."""
    every = [node for part in body for node in nodes(part)]
    taken = {
        dotted(node.targets[0]): whole
        for node in every
        if isinstance(node, ast.Assign) and (whole := _picked_from(node.value, names)) is not None
    }
    for call in (node for node in every if isinstance(node, ast.Call)):
        whole = _picked_from(call.func, names) or taken.get(dotted(call.func) or "-")
        if whole is not None and _holds_parts(whole, call, function, project):
            yield Part(call, whole, function)
        target = project.target(call, function) if whole is None and depth < _DEPTH else None
        if target is not None and not isinstance(target.node, ast.Module):
            own = target.parameters[1:] if target.is_method else target.parameters
            given = {name for name, value in zip(own, call.args, strict=False) if dotted(value) in names}
            given |= {word.arg for word in call.keywords if word.arg and dotted(word.value) in names}
            if given:
                yield from picked_parts(target.node.body, given, target, project, depth + 1)


def _picked_from(node: ast.expr, names: set[str]) -> ast.expr | None:
    """Return from what an expression picks a part by a name: `parts[name]`, `getattr(model, name)`."""
    match node:
        case ast.Subscript(value=whole, slice=ast.Name(id=name)) if name in names:
            return whole
        case ast.Call(func=ast.Name(id="getattr"), args=[whole, ast.Name(id=name), *_]) if name in names:
            return whole
        case ast.Call(func=ast.Attribute(value=whole, attr="get_submodule"), args=[ast.Name(id=name)]):
            return whole if name in names else None
    return None


def _holds_parts(whole: ast.expr, call: ast.Call, function: Function, project: Project) -> bool:
    """Whether something is a model, or holds layers by name."""
    if not isinstance(whole, (ast.Name, ast.Attribute)):
        return False
    if not isinstance(call.func, ast.Subscript):
        owner = project.owner_of(function) if dotted(whole) == "self" else project.holds_class(whole, function)
        if owner is not None and "forward" in owner.methods:
            return True
    held = project.stands_for(whole, function)
    return any(isinstance(value, ast.Call) and last(value.func) == "ModuleDict" for value, _ in held)


def is_unit(part: Part, project: Project) -> bool:
    """Whether a script shards a part by itself, so that it is gathered when it is called."""
    made = {last(part.whole)} - {"self"}
    if isinstance(part.whole, (ast.Name, ast.Attribute)):
        held = project.stands_for(part.whole, part.function)
        made |= {last(node.func) for value, _ in held for node in nodes(value) if isinstance(node, ast.Call)}
    for function in project.functions:
        if not project.walk(function).calls(*_CALLS):
            continue
        said = words(function.node) | {word for _, site in project.callers(function) for word in words(site.node)}
        if said & made or (said & _EVERY and "isinstance" not in said) or last(part.whole) == "self":
            return True
    return False
