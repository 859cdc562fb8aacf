"""Parameters of FSDP that keep their names and are pieces of one dimension, and tests that ask for their dimensions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.collectives import PARAMETERS
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import COMPREHENSIONS, constant, last, shown, walk, words
from distkb.evidence.readers.scripts.nodes import nodes

_PIECES = "script.dimension-of-piece"
_VIEWS = frozenset({"items", "values", "copy"})
_KEEPS = frozenset({"list", "tuple", "dict", "sorted", "reversed", "enumerate", "iter", "filter"})
_DIMENSIONS = frozenset({"dim", "ndimension", "size"})
_WHOLE = "summon_full_params"
_DEPTH = 6


def asked(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield tests of the dimension of parameters that a wrapper of FSDP with `use_orig_params=True` has cut up."""
    if not _keeps_names(job) or job.mentions("NO_SHARD"):
        return
    for function in job.project.functions:
        told = _whole_inside(function, job)
        for node in walk(function.node):
            for over, inside in _rounds(node):
                test = next((one for part in inside for one in _tests(part, function, job)), None)
                if test is None or id(test) in told:
                    continue
                owner = _owner(over, function, job, 0)
                if owner is not None and kinds.kind_of(owner[0], owner[1], job.project, owner[0].lineno) == kinds.FSDP1:
                    told.add(id(test))
                    yield hit(_PIECES, function, test, test=shown(test), model=shown(owner[0]))


def _whole_inside(function: Function, job: ScriptContext) -> set[int]:
    """Return what stands where the parameters are gathered whole, in the function or around its calls."""
    if any(_WHOLE in site.where.entered for _, site in job.project.callers(function)):
        return {id(node) for node in nodes(function.node)}
    blocks = (node for node in walk(function.node) if isinstance(node, ast.With))
    gathered = (block for block in blocks if any(_WHOLE in words(item.context_expr) for item in block.items))
    return {id(node) for block in gathered for node in nodes(block)}


def _keeps_names(job: ScriptContext) -> bool:
    """Whether the original parameters are asked for, or the code may do so by a setting."""
    for script in job.project.scripts:
        for node in script.nodes:
            if isinstance(node, ast.keyword) and node.arg == "use_orig_params" and constant(node.value) is not False:
                return True
            if isinstance(node, ast.Dict) and any(constant(key) == "use_orig_params" for key in node.keys):
                return True
    return False


def _rounds(node: ast.AST) -> Iterator[tuple[ast.expr, list[ast.AST]]]:
    """Yield what a loop, a comprehension or a filter goes through, with what is done for each element."""
    if isinstance(node, ast.For):
        yield node.iter, list(node.body)
    elif isinstance(node, COMPREHENSIONS):
        given = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        yield node.generators[0].iter, [*given, *(test for one in node.generators for test in one.ifs)]
    elif isinstance(node, ast.Call) and last(node.func) in {"filter", "sorted"} and node.args:
        chooses = [node.args[0], *(word.value for word in node.keywords)]
        yield node.args[-1], [part.body for part in chooses if isinstance(part, ast.Lambda)]


def _tests(part: ast.AST, function: Function, job: ScriptContext) -> Iterator[ast.expr]:
    """Yield the comparisons of a dimension, and the calls of a small function that is one."""
    if isinstance(part, ast.Assert):
        return
    for node in nodes(part):
        if isinstance(node, ast.Compare) and any(map(_is_dimension, (node.left, *node.comparators))):
            yield node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            given = job.project.returned(node, function)
            asks = (one for value, _ in given for one in nodes(value) if isinstance(one, ast.Compare))
            if any(_is_dimension(side) for one in asks for side in (one.left, *one.comparators)):
                yield node


def _is_dimension(node: ast.expr) -> bool:
    """`p.dim()`, `p.ndim`, `len(p.shape)`, `p.shape[0]`, `p.size(0)`."""
    match node:
        case ast.Attribute(attr="ndim") | ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
        case ast.Call(func=ast.Name(id="len"), args=[ast.Attribute(attr="shape")]):
            return True
        case ast.Call(func=ast.Name(id="len"), args=[ast.Call(func=ast.Attribute(attr="size"))]):
            return True
        case ast.Call(func=ast.Attribute(attr=method), args=given) if method in _DIMENSIONS:
            return method != "size" or bool(given)
    return False


def _owner(node: ast.expr, function: Function, job: ScriptContext, depth: int) -> tuple[ast.expr, Function] | None:
    """Return the model whose parameters an iterable gives, with the function in which it is named."""
    if depth > _DEPTH:
        return None
    inner: ast.expr | None = None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in PARAMETERS:
            return node.func.value, function
        inner = node.func.value if node.func.attr in _VIEWS else None
    elif isinstance(node, ast.Call) and last(node.func) in _KEEPS and node.args:
        inner = node.args[-1]
    elif isinstance(node, COMPREHENSIONS):
        inner = node.generators[0].iter
    if inner is not None:
        return _owner(inner, function, job, depth + 1)
    if isinstance(node, (ast.Name, ast.Attribute)):
        for value, scope in job.project.stands_for(node, function):
            found = _owner(value, scope, job, depth + 1)
            if found is not None:
                return found
    return None


RULES = (ScriptRule(ids=(_PIECES,), check=asked),)
