"""Which call made what a name, an attribute or an argument holds, behind wrappers, `prepare` and helpers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from distkb.evidence.readers.scripts.flow import LOOPED, Assignment
from distkb.evidence.readers.scripts.names import canonical, dotted, last
from distkb.evidence.readers.scripts.project import Function, Project

SAME = frozenset({"to", "cuda", "cpu", "train", "eval", "half", "bfloat16", "float", "double", "requires_grad_"})
"""Methods that give back the object."""
_WRAPS = frozenset({"DistributedDataParallel", "FullyShardedDataParallel", "compile", "convert_sync_batchnorm"})
_PREPARES = frozenset({"prepare", "prepare_model", "prepare_optimizer", "prepare_scheduler", "prepare_data_loader"})
_DEPTH = 9
_MOST = 6


class Made(msgspec.Struct, frozen=True, eq=False):
    """A call that makes something, and what was done to it before it came to where it is asked for."""

    call: ast.Call
    function: Function
    prepared: bool = False
    """Whether it went through Accelerate's `prepare`."""
    wrapped: bool = False
    """Whether it went through a wrapper of torch's."""


def makers(
    node: ast.expr | None, function: Function, project: Project, line: int = 1 << 30, depth: int = 0
) -> Iterator[Made]:
    """Yield the calls that may have made what an expression holds at a line."""
    if node is None or depth > _DEPTH:
        return
    if isinstance(node, ast.Call):
        yield from _of_call(node, None, function, project, depth)
    elif isinstance(node, ast.IfExp):
        yield from makers(node.body, function, project, line, depth + 1)
        yield from makers(node.orelse, function, project, line, depth + 1)
    elif isinstance(node, ast.Name):
        yield from _of_name(node.id, function, project, line, depth)
    elif isinstance(node, ast.Attribute) and dotted(node):
        yield from _of_attribute(node, function, project, depth)


def maker(node: ast.expr | None, function: Function, project: Project, line: int = 1 << 30) -> Made | None:
    """Return the one call that made it; None where there are several, or none is to be seen."""
    found = list({id(made.call): made for made in makers(node, function, project, line)}.values())
    return found[0] if len(found) == 1 else None


def _of_call(call: ast.Call, index: int | None, function: Function, project: Project, depth: int) -> Iterator[Made]:
    name, owner = last(call.func), call.func.value if isinstance(call.func, ast.Attribute) else None
    resolved = canonical(call.func, function.script).rpartition(".")[2]
    if name in _PREPARES and call.args:
        given = call.args[index] if index is not None and 0 <= index < len(call.args) else call.args[0]
        if index is not None or len(call.args) == 1:
            for made in makers(given, function, project, call.lineno, depth + 1):
                yield msgspec.structs.replace(made, prepared=True)
    elif resolved in _WRAPS and call.args and index is None:
        for made in makers(call.args[0], function, project, call.lineno, depth + 1):
            yield msgspec.structs.replace(made, wrapped=made.wrapped or resolved != "compile")
    elif owner is not None and name in SAME and index is None:
        yield from makers(owner, function, project, call.lineno, depth + 1)
    else:
        yield from _of_function(call, index, function, project, depth)


def _of_function(call: ast.Call, index: int | None, function: Function, project: Project, depth: int) -> Iterator[Made]:
    """Follow a function of the project to what it returns; any other call makes what it gives."""
    target = project.target(call, function)
    if target is None or target.name.endswith("__init__"):
        yield from [Made(call, function)] if index is None else []
        return
    for value, _ in project.walk(target).returns[:_MOST]:
        if index is None:
            yield from makers(value, target, project, depth=depth + 1)
        elif isinstance(value, (ast.Tuple, ast.List)) and 0 <= index < len(value.elts):
            yield from makers(value.elts[index], target, project, depth=depth + 1)
        elif isinstance(value, ast.Call):
            yield from _of_call(value, index, target, project, depth + 1)


def _of_assignment(made: Assignment, function: Function, project: Project, depth: int) -> Iterator[Made]:
    if made.index is None:
        yield from makers(made.value, function, project, made.line, depth + 1)
    elif made.index != LOOPED and isinstance(made.value, ast.Call):
        yield from _of_call(made.value, made.index, function, project, depth + 1)


def _of_name(name: str, function: Function, project: Project, line: int, depth: int) -> Iterator[Made]:
    scope: Function | None = function
    while scope is not None:
        made = project.walk(scope).assigned(name, before=line if scope is function else 1 << 30)
        if made:
            yield from _of_assignment(made[-1], scope, project, depth)
            return
        if name in scope.parameters:
            for value, caller in project.given(name, scope):
                yield from makers(value, caller, project, value.lineno, depth + 1)
            return
        scope = scope.parent


def _of_attribute(node: ast.Attribute, function: Function, project: Project, depth: int) -> Iterator[Made]:
    """Follow an attribute to the last assignment that the methods of its class make."""
    own = isinstance(node.value, ast.Name) and node.value.id == "self"
    owner = project.owner_of(function) if own else project.holds_class(node.value, function)
    for method in owner.methods.values() if owner is not None else ():
        for made in project.walk(method).assigned(f"self.{node.attr}", before=1 << 30)[-1:]:
            if node.attr in {part.attr for part in ast.walk(made.value) if isinstance(part, ast.Attribute)}:
                before = project.walk(method).assigned(f"self.{node.attr}", before=made.line)[-1:]
                for found in (one for earlier in before for one in _of_assignment(earlier, method, project, depth)):
                    through = last(made.value.func) if isinstance(made.value, ast.Call) else ""
                    yield msgspec.structs.replace(found, prepared=found.prepared or through in _PREPARES)
            else:
                yield from _of_assignment(made, method, project, depth)
