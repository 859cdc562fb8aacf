"""Data that a program reads, changes and writes back to where it read it: the next start begins from the changed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import msgspec

from distkb.evidence.readers.scripts.arguments import keyword, positional, receiver
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import LOOPED, Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import meanings
from distkb.evidence.readers.scripts.names import COMPREHENSIONS, canonical, dotted, last, shown
from distkb.evidence.readers.scripts.nodes import children, nodes

_OVER = "script.input-written-over"
_READS = re.compile(
    r"^(?:numpy\.(?:load|loadtxt|genfromtxt|fromfile)|torch\.load|json\.load|pickle\.load|joblib\.load"
    r"|pandas\.read_(?:csv|parquet|json|pickle|feather|table))$"
)
_WRITES = {"numpy.save": (0, 1), "numpy.savetxt": (0, 1), "torch.save": (1, 0), "json.dump": (1, 0),
           "pickle.dump": (1, 0), "joblib.dump": (1, 0)}  # fmt: skip
"""Calls that write a value, with the positions of the path, or of the open file, and of the value."""
_METHODS = frozenset({"to_csv", "to_parquet", "to_json", "to_pickle", "to_feather", "tofile"})
"""Methods of a table or an array that write it."""
_PICKS = frozenset({"sample"})
"""Calls whose result gets smaller each time that it is made of itself."""
_INTO = frozenset({"sub_", "div_", "mul_", "add_"})
_NUMBERS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv)
_ALONE = frozenset({"int", "float", "len", "sum", "str"})
"""Calls that make a single number of what was read: one that is counted on is meant to be."""
_DEPTH = 7
_CALLERS = 4


class _Read(msgspec.Struct, frozen=True):
    """A call that reads data, and whether what came of it was changed."""

    call: ast.Call
    function: Function
    changed: bool


def written_over(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield writes, made at every start, of what was read from the same path and changed meanwhile."""
    if not job.is_parallel:
        return
    for function, site in job.sites():
        written = _written(site, function)
        if written is None or site.where.loops or not _is_at_every_start(site, function, job, 0):
            continue
        path, value = written
        texts = _texts(path, function, job)
        for read in _behind(value, function, job, value.lineno, 0):
            source = _path(read.call)
            if read.changed and source is not None and texts & _texts(source, read.function, job):
                yield hit(_OVER, function, site.node, call=shown(site.node.func), path=shown(path),
                          read=shown(read.call), read_line=str(read.call.lineno))  # fmt: skip
                break


def _written(site: Site, function: Function) -> tuple[ast.expr, ast.expr] | None:
    """Return the path, or the file, and the value of a call that writes."""
    call = site.node
    places = _WRITES.get(canonical(call.func, function.script))
    if places is not None and len(call.args) > max(places):
        return call.args[places[0]], call.args[places[1]]
    if isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS and call.args:
        return None if keyword(call, "mode") is not None else (call.args[0], call.func.value)
    return None


def _is_at_every_start(site: Site, function: Function, job: ScriptContext, depth: int) -> bool:
    """Whether nothing but the rank decides whether a call is made, up to the beginning of the program."""
    if not site.where.certain or site.where.passed or depth > _CALLERS or site.where.loops:
        return False
    callers = job.project.callers(function)
    if callers or function.name == "<module>" or function.name.rpartition(".")[2] in {"main", "worker", "run"}:
        return all(_is_at_every_start(one, caller, job, depth + 1) for caller, one in callers)
    return False


def _path(read: ast.Call) -> ast.expr | None:
    return positional(read, 0)


def _texts(path: ast.expr, function: Function, job: ScriptContext) -> set[tuple[str, int]]:
    """Return how the places are written that a path may stand for, each with the function where it is written."""
    found: set[tuple[str, int]] = set()
    for value, scope in meanings(path, function, job.project):
        opened = isinstance(value, ast.Call) and last(value.func) == "open"
        if isinstance(value, ast.Call) and opened:
            inside = receiver(value) or positional(value, 0)
            found |= _texts(inside, scope, job) if inside is not None else set()
        else:
            found.add((shown(value), 0 if isinstance(value, ast.Constant) else id(scope)))
    return found


def _behind(node: ast.expr, function: Function, job: ScriptContext, line: int, depth: int) -> Iterator[_Read]:
    """Yield the reads that a value comes from."""
    if depth > _DEPTH:
        return
    if isinstance(node, ast.Call):
        yield from _behind_call(node, function, job, line, depth)
    elif isinstance(node, (ast.Name, ast.Attribute)) and dotted(node):
        yield from _behind_name(node, function, job, line, depth)
    elif isinstance(node, COMPREHENSIONS):
        made = [node.value] if isinstance(node, ast.DictComp) else [node.elt]
        inside = (part for one in made for part in nodes(one))
        changes = any(isinstance(part, ast.BinOp) and isinstance(part.op, _NUMBERS) for part in inside)
        for read in _behind(node.generators[0].iter, function, job, line, depth + 1):
            yield _Read(read.call, read.function, read.changed or changes)
    else:
        changes = isinstance(node, ast.BinOp) and isinstance(node.op, _NUMBERS)
        changes = changes or _begins_later(node)
        for part in children(node):
            if isinstance(part, ast.expr) and not (isinstance(node, ast.Subscript) and part is node.slice):
                for read in _behind(part, function, job, line, depth + 1):
                    yield _Read(read.call, read.function, read.changed or changes)


def _begins_later(node: ast.expr) -> bool:
    """Whether a slice leaves out its beginning, or all but some: of its result it leaves out as much again."""
    cut = node.slice if isinstance(node, ast.Subscript) else None
    return isinstance(cut, ast.Slice) and (cut.lower is not None or cut.step is not None)


def _behind_call(call: ast.Call, function: Function, job: ScriptContext, line: int, depth: int) -> Iterator[_Read]:
    full, name = canonical(call.func, function.script), last(call.func)
    if _READS.match(full):
        yield _Read(call, function, changed=False)
        return
    if name in _ALONE:
        return
    for value, scope in job.project.returned(call, function):
        yield from _behind(value, scope, job, value.lineno + 1, depth + 1)
    receiver = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    for given in (*receiver, *call.args):
        for read in _behind(given, function, job, line, depth + 1):
            yield _Read(read.call, read.function, read.changed or name in _PICKS)


def _behind_name(
    node: ast.Name | ast.Attribute, function: Function, job: ScriptContext, line: int, depth: int
) -> Iterator[_Read]:
    """Follow a name to what it was given last, and see what was done to it since."""
    name = dotted(node)
    walk = job.project.walk(function)
    made = walk.assigned(name, before=line)[-1:]
    found: list[_Read] = []
    for one in made:
        if one.index is None:
            found += _behind(one.value, function, job, one.line, depth + 1)
        elif one.index != LOOPED and isinstance(one.value, (ast.Call, ast.Tuple)):
            inner = job.project.returned(one.value, function, one.index)
            for value, scope in inner:
                found += _behind(value, scope, job, value.lineno + 1, depth + 1)
    if not made and name in function.parameters:
        for value, caller in job.project.given(name, function):
            found += _behind(value, caller, job, value.lineno, depth + 1)
    since = made[-1].line if made else 0
    changed = any(since < one.line < line and not one.where.loops for one in walk.changes.get(name, []))
    changed = changed or any(since < one.value.lineno < line and _counts(one.value, name)
                             for (kept, _), items in walk.items.items() if kept == name for one in items)  # fmt: skip
    changed = changed or any(
        isinstance(s.node.func, ast.Attribute) and s.node.func.attr in _INTO and dotted(s.node.func.value) == name
        and since < s.node.lineno < line and not s.where.loops for s in walk.sites
    )  # fmt: skip
    yield from (_Read(read.call, read.function, read.changed or changed) for read in found)


def _counts(value: ast.expr, name: str) -> bool:
    """Whether an element of a table is worked out from the table itself: `rows["x"] = rows["x"] / 255`."""
    sums = (part for part in nodes(value) if isinstance(part, ast.BinOp) and isinstance(part.op, _NUMBERS))
    return any(name in {dotted(inner) for inner in nodes(one)} for one in sums)


RULES = (ScriptRule(ids=(_OVER,), check=written_over),)
