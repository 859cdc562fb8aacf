"""Tensors of a collective that have one type of numbers on one rank and another one on the next."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import arguments, keyword
from distkb.evidence.readers.scripts.collectives import implied, is_operation
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Assignment
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, dotted, last, shown

_TYPE = "script.dtype-by-own-data"
_PLACES = {"all_reduce": 0, "reduce": 0, "broadcast": 0, "all_gather": 1, "all_gather_into_tensor": 1, "gather": 0}
_FLOATS = frozenset({"zeros", "ones", "empty", "rand", "randn", "linspace"})
"""Makers of torch's that give float32 unless told."""
_KEEPS = frozenset(
    {"to", "cuda", "cpu", "reshape", "view", "detach", "clone", "unsqueeze", "squeeze", "contiguous", "flatten"}
)
_CASTS = {"float": "float32", "double": "float64", "long": "int64", "int": "int32", "half": "float16", "bool": "bool",
          "bfloat16": "bfloat16"}  # fmt: skip
_COUNTS = frozenset({"count_nonzero", "argmax", "argmin"})
_OWN = ("batch", "part", "measure")
_DEPTH = 6


def by_own_data(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield collectives of a tensor that two branches make with different types, where the rank's own data decides."""
    for function, call in job.calls() if job.is_parallel or job.mentions("distributed") else ():
        place = _PLACES.get(last(call.func))
        if place is None or not (is_operation(call, function) or implied(call, function, job.project)):
            continue
        place = place if is_operation(call, function) else 0
        given = keyword(call, "tensor") or (call.args[place] if len(call.args) > place else None)
        for test, one, other in _choices(given, function, job, call.lineno, 0) if given is not None else ():
            first, second = _dtype(one, function, job, 0), _dtype(other, function, job, 0)
            if first and second and first != second and job.origins.depends([test], function, *_OWN):
                yield hit(_TYPE, function, call, call=shown(call.func), tensor=shown(given or call), one=first,
                          other=second, test=shown(test), one_line=str(one.lineno),
                          other_line=str(other.lineno))  # fmt: skip
                break


def _choices(
    node: ast.expr, function: Function, job: ScriptContext, line: int, depth: int
) -> Iterator[tuple[ast.expr, ast.expr, ast.expr]]:
    """Yield each test that chooses between two ways to make a value, with both."""
    if depth > _DEPTH:
        return
    if isinstance(node, ast.IfExp):
        yield node.test, node.body, node.orelse
    elif isinstance(node, ast.Name):
        made = [one for one in job.project.walk(function).assigned(node.id, before=line) if one.index is None]
        for final in made[-1:]:
            yield from ((test, before.value, final.value) for before in made[:-1] for test in _between(before, final))
            yield from _choices(final.value, function, job, final.line, depth + 1)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if canonical(node.func, function.script) in {"torch.tensor", "torch.as_tensor"} and node.args:
            for test, one, other in _choices(node.args[0], function, job, line, depth + 1):
                if keyword(node, "dtype") is None:
                    yield test, _tensor_of(one, node), _tensor_of(other, node)
        elif node.func.attr in _KEEPS and not _casts(node):
            yield from _choices(node.func.value, function, job, line, depth + 1)


def _casts(call: ast.Call) -> bool:
    """Whether a call that gives back the tensor names a type for it."""
    return any(map(_names_type, arguments(call)))


def _tensor_of(value: ast.expr, call: ast.Call) -> ast.expr:
    """Return the call that makes a tensor with one of the values between which its argument chooses."""
    return ast.copy_location(ast.Call(func=call.func, args=[value], keywords=[]), value)


def _between(before: Assignment, after: Assignment) -> Iterator[ast.expr]:
    """Yield the test in whose two branches two assignments stand, or the one that guards the later of them."""
    if before.where.loops != after.where.loops:
        return
    shared = [test for test in after.where.tests if any(test is one for one in before.where.tests)]
    later = [test for test in after.where.tests if not any(test is one for one in shared)]
    if len(later) == 1 and len(before.where.tests) - len(shared) == 0:
        yield later[0]
    elif not later and shared and len(shared) == len(before.where.tests):
        yield shared[-1]


def _dtype(node: ast.expr, function: Function, job: ScriptContext, depth: int) -> str:
    """Return the type of a tensor's numbers where the expression that makes it says so; an empty string elsewhere."""
    if isinstance(node, ast.Name) and depth <= _DEPTH:
        made = job.project.single(node, function)
        return _dtype(made, function, job, depth + 1) if made is not None else ""
    if depth > _DEPTH or not isinstance(node, ast.Call):
        return ""
    told = keyword(node, "dtype")
    if told is not None:
        return _named(told)
    full = canonical(node.func, function.script)
    if full in {"torch.tensor", "torch.as_tensor"} and node.args:
        return {"int": "int64", "float": "float32"}.get(_number(node.args[0]), "")
    if full.startswith("torch.") and last(node.func) in _FLOATS:
        return "float32"
    return _of_method(node, node.func.value, function, job, depth) if isinstance(node.func, ast.Attribute) else ""


def _of_method(call: ast.Call, owner: ast.expr, function: Function, job: ScriptContext, depth: int) -> str:
    """Return the type of what a method of a tensor gives: a cast, a count, or the tensor in another form."""
    name, found = last(call.func), ""
    if name in _CASTS and not call.args:
        found = _CASTS[name]
    elif name in _KEEPS:
        cast = next((_named(one) for one in call.args if _names_type(one)), "")
        found = cast or _dtype(owner, function, job, depth + 1)
    elif name in _COUNTS or (name == "sum" and _is_mask(owner, function, job, 0)):
        found = "int64"
    return found


def _number(node: ast.expr) -> str:
    """Return whether a Python value is a whole number or a fraction, also as the only element of a list."""
    match node:
        case ast.List(elts=[first, *_]):
            return _number(first)
        case ast.Constant(value=bool()):
            return ""
        case ast.Constant(value=int()) | ast.Call(func=ast.Name(id="len" | "int")):
            return "int"
        case ast.Constant(value=float()) | ast.Call(func=ast.Name(id="float")) | ast.BinOp(op=ast.Div()):
            return "float"
        case ast.List(elts=[]):
            return "float"
    return ""


def _is_mask(node: ast.expr, function: Function, job: ScriptContext, depth: int) -> bool:
    """Whether a tensor holds truth values: a comparison, what was made so, or what a helper gives back as such."""
    if isinstance(node, ast.Compare):
        return True
    if isinstance(node, ast.Call):
        told = keyword(node, "dtype")
        inside = job.project.returned(node, function) if depth < _DEPTH else []
        return (told is not None and _named(told) == "bool") or (
            bool(inside) and all(_is_mask(value, scope, job, depth + 1) for value, scope in inside)
        )
    if isinstance(node, ast.Name) and depth < _DEPTH:
        made = job.project.walk(function).assigned(node.id, before=node.lineno)
        if made and made[-1].index is not None and made[-1].index >= 0:
            inside = job.project.returned(made[-1].value, function, made[-1].index)
            return bool(inside) and all(_is_mask(value, scope, job, depth + 1) for value, scope in inside)
        return bool(made) and made[-1].index is None and _is_mask(made[-1].value, function, job, depth + 1)
    return False


def _names_type(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and dotted(node.value) == "torch"


def _named(node: ast.expr) -> str:
    name = last(node) if _names_type(node) else ""
    return {"long": "int64", "int": "int32", "float": "float32", "double": "float64", "half": "float16"}.get(name, name)


RULES = (ScriptRule(ids=(_TYPE,), check=by_own_data),)
