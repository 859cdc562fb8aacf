"""What made a value: the call, literal or name from which it comes, behind names, arguments, helpers and wrappers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from distkb.evidence.readers.scripts.arguments import keyword, receiver
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.fields import fields_of
from distkb.evidence.readers.scripts.flow import LOOPED, NO_LINE, Assignment
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last
from distkb.evidence.readers.scripts.project import Project

Meaning = tuple[ast.expr, Function]
"""An expression, and the function in which it stands."""
SAME = frozenset({"to", "cuda", "cpu", "train", "eval", "half", "bfloat16", "float", "double", "requires_grad_"})
"""Methods that give back the object."""
_WRAPS = frozenset({"DistributedDataParallel", "FullyShardedDataParallel", "compile", "convert_sync_batchnorm"})
_PREPARES = frozenset({"prepare", "prepare_model", "prepare_optimizer", "prepare_scheduler", "prepare_data_loader"})
_PARTS = SAME | {"get", "pop", "byte", "clone", "numpy"}
"""Methods that give a part of the object, or the object in another form."""
_TURNS = frozenset({"tuple", "list", "torch.tensor", "torch.as_tensor", "torch.ByteTensor", "torch.from_numpy"})
"""Calls that give back in another form what they get."""
_FIRST = frozenset({"torch.compile", "int", "float", "str", "min", "max"})
"""Calls that give back, or are made of, what they get first."""
_DEEPEST_MAKER, _DEEPEST_MEANING = 9, 7
_MOST_MAKERS, _MOST_MEANINGS = 6, 12
"""Values returned by one function, or assigned to one name, that are followed."""


class Made(msgspec.Struct, frozen=True, eq=False):
    """A call that makes something, and what was done to it before it came to where it is asked for."""

    call: ast.Call
    function: Function
    prepared: bool = False
    """Whether it went through Accelerate's `prepare`."""
    wrapped: bool = False
    """Whether it went through a wrapper of torch's."""


def maker(node: ast.expr | None, function: Function, project: Project, line: int = NO_LINE) -> Made | None:
    """Return the one call that made it; None where there are several, or none is to be seen."""
    found = list({id(made.call): made for made in makers(node, function, project, line)}.values())
    return found[0] if len(found) == 1 else None


def makers(
    node: ast.expr | None, function: Function, project: Project, line: int = NO_LINE, depth: int = 0
) -> Iterator[Made]:
    """Yield the calls that may have made what an expression holds at a line."""
    if node is None or depth > _DEEPEST_MAKER:
        return
    if isinstance(node, ast.Call):
        yield from _makers_of_call(node, None, function, project, depth)
    elif isinstance(node, ast.IfExp):
        yield from makers(node.body, function, project, line, depth + 1)
        yield from makers(node.orelse, function, project, line, depth + 1)
    elif isinstance(node, ast.Name):
        scope, made = project.binding(node.id, function, line)
        if made:
            yield from _makers_of_assignment(made[-1], scope, project, depth)
        elif node.id in scope.parameters:
            for value, caller in project.given(node.id, scope):
                yield from makers(value, caller, project, value.lineno, depth + 1)
    elif isinstance(node, ast.Attribute) and dotted(node):
        yield from _makers_of_attribute(node, function, project, depth)


def _makers_of_call(
    call: ast.Call, index: int | None, function: Function, project: Project, depth: int
) -> Iterator[Made]:
    """Follow a wrapper or a helper to what it gives back, at a place of its tuple; any other call makes it."""
    name, owner = last(call.func), receiver(call)
    resolved = canonical(call.func, function.script).rpartition(".")[2]
    if name in _PREPARES and call.args:
        given = call.args[index] if index is not None and 0 <= index < len(call.args) else call.args[0]
        if index is not None or len(call.args) == 1:
            for made in makers(given, function, project, call.lineno, depth + 1):
                yield msgspec.structs.replace(made, prepared=True)
        return
    if index is None and resolved in _WRAPS and call.args:
        for made in makers(call.args[0], function, project, call.lineno, depth + 1):
            yield msgspec.structs.replace(made, wrapped=made.wrapped or resolved != "compile")
        return
    if index is None and owner is not None and name in SAME:
        yield from makers(owner, function, project, call.lineno, depth + 1)
        return
    target = project.target(call, function)
    if target is None or target.name.endswith("__init__"):
        yield from [Made(call, function)] if index is None else []
    for value, scope in project.returned(call, function)[:_MOST_MAKERS]:
        if index is None:
            yield from makers(value, scope, project, depth=depth + 1)
        elif isinstance(value, (ast.Tuple, ast.List)) and 0 <= index < len(value.elts):
            yield from makers(value.elts[index], scope, project, depth=depth + 1)
        elif isinstance(value, ast.Call):
            yield from _makers_of_call(value, index, scope, project, depth + 1)


def _makers_of_assignment(made: Assignment, function: Function, project: Project, depth: int) -> Iterator[Made]:
    if made.index is None:
        yield from makers(made.value, function, project, made.line, depth + 1)
    elif made.index != LOOPED and isinstance(made.value, ast.Call):
        yield from _makers_of_call(made.value, made.index, function, project, depth + 1)


def _makers_of_attribute(node: ast.Attribute, function: Function, project: Project, depth: int) -> Iterator[Made]:
    """Follow an attribute to the last assignment that the methods of its class make."""
    owner, name = project.holder(node, function), f"self.{node.attr}"
    for method in owner.methods.values() if owner is not None else ():
        for made in project.walk(method).assigned(name)[-1:]:
            if node.attr not in {part.attr for part in ast.walk(made.value) if isinstance(part, ast.Attribute)}:
                yield from _makers_of_assignment(made, method, project, depth)
                continue
            prepares = isinstance(made.value, ast.Call) and last(made.value.func) in _PREPARES
            for earlier in project.walk(method).assigned(name, before=made.line)[-1:]:
                for found in _makers_of_assignment(earlier, method, project, depth):
                    yield msgspec.structs.replace(found, prepared=found.prepared or prepares)


def meanings(node: ast.expr | None, function: Function, project: Project, depth: int = 0) -> Iterator[Meaning]:
    """Yield the calls, literals and the like that a value may come from, each with the function in which it stands."""
    if node is None or depth > _DEEPEST_MEANING:
        return
    found: list[Meaning] = []
    if isinstance(node, ast.IfExp):
        found = [(node.body, function), (node.orelse, function)]
    elif isinstance(node, ast.Call):
        found = _behind_call(node, function, project)
    elif isinstance(node, ast.Attribute) and dotted(node):
        found = list(_held(node, function, project))
    elif isinstance(node, ast.Name):
        found = list(_named(node, function, project))
    for value, scope in found[:_MOST_MEANINGS]:
        yield from meanings(value, scope, project, depth + 1)
    if not found:
        yield node, function


def _behind_call(call: ast.Call, function: Function, project: Project) -> list[Meaning]:
    """Return what a call gives back without making it itself."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in SAME:
        return [(call.func.value, function)]
    if canonical(call.func, function.script) in _FIRST and call.args:
        return [(call.args[0], function)]
    return project.returned(call, function)


def _named(node: ast.Name, function: Function, project: Project) -> Iterator[Meaning]:
    """Yield what a name was given last, what callers give for it, or what the module has it from that it is of."""
    scope, made = project.binding(node.id, function, node.lineno)
    if made and made[-1].index is None:
        yield made[-1].value, scope
    elif made:
        yield from project.returned(made[-1].value, scope, made[-1].index)
    elif node.id in scope.parameters:
        default = scope.default(node.id)
        yield from list(project.given(node.id, scope)) or ([(default, scope)] if default is not None else [])
    else:
        module, dot, name = canonical(node, function.script).rpartition(".")
        script = project.module_named(module, function.script) if dot else None
        if script is not None:
            top = project.modules[id(script)]
            yield from ((one.value, top) for one in project.walk(top).assigned(name)[-1:])


def _held(node: ast.Attribute, function: Function, project: Project) -> Iterator[Meaning]:
    """Yield what an attribute holds: of an object, by default of a dataclass, or by default of an argument's parser."""
    found = project.held_under(node, function)
    owner = project.holder(node, function)
    fields = fields_of(node, owner)
    default = fields.defaults.get(node.attr) if fields is not None else None
    if found:
        yield from found
    elif default is not None and owner is not None:
        yield default, project.modules[id(owner.script)]
    else:
        for script in project.scripts:
            for part in script.nodes:
                if isinstance(part, ast.Call) and last(part.func) == "add_argument" and _names(part, node.attr):
                    value = keyword(part, "default")
                    if value is not None:
                        yield value, project.modules[id(script)]


def _names(call: ast.Call, name: str) -> bool:
    """Whether an argument of argparse is kept under a name."""
    flags = [str(constant(one)) for one in call.args if isinstance(one, ast.Constant)]
    return any(flag.lstrip("-").replace("-", "_") == name for flag in flags)


def roots(node: ast.expr, function: Function, project: Project, depth: int = 0) -> Iterator[Meaning]:
    """Yield what a value is a part of, or was turned from: `state` of `tuple(state["rng"])`, and where it is made."""
    inner: list[ast.expr] = []
    if depth > _DEEPEST_MEANING:
        return
    if isinstance(node, (ast.Subscript, ast.Starred)):
        inner = [node.value]
    elif isinstance(node, (ast.Tuple, ast.List)):
        inner = node.elts
    elif isinstance(node, ast.Call) and canonical(node.func, function.script) in _TURNS:
        inner = node.args
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PARTS:
        inner = [node.func.value]
    elif isinstance(node, ast.Name):
        made = project.walk(function).assigned(node.id, before=node.lineno)
        inner = [made[-1].value] if made and made[-1].value is not node else []
    for part in inner:
        yield from roots(part, function, project, depth + 1)
    for value, scope in list(meanings(node, function, project)) if not inner else ():
        if value is node or isinstance(value, (ast.Name, ast.Constant)):
            yield value, scope
        else:
            yield from roots(value, scope, project, depth + 1)


def literals(node: ast.expr, function: Function, project: Project) -> list[object]:
    """Return what a value is where it is written out somewhere, as far as that is plain."""
    return [value.value for value, _ in meanings(node, function, project) if isinstance(value, ast.Constant)]


def made_by(node: ast.expr, function: Function, project: Project) -> list[tuple[str, ast.Call, Function]]:
    """Return the calls from which a value may come, each with the full name of what is called."""
    found = ((value, scope) for value, scope in meanings(node, function, project) if isinstance(value, ast.Call))
    return [(canonical(value.func, scope.script), value, scope) for value, scope in found]


def setting(call: ast.Call, name: str, function: Function, project: Project) -> ast.expr | None:
    """Return what a call is given under a name, be it in a dictionary that is spread over it."""
    for word in call.keywords:
        if word.arg == name:
            return word.value
        for value, _ in meanings(word.value, function, project) if word.arg is None else ():
            if isinstance(value, ast.Call) and last(value.func) == "dict" and keyword(value, name) is not None:
                return keyword(value, name)
            if isinstance(value, ast.Dict):
                pairs = zip(value.keys, value.values, strict=True)
                found = next((v for key, v in pairs if constant(key) == name), None)
                if found is not None:
                    return found
    return None
