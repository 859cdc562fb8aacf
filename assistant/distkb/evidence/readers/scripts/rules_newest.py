"""Which checkpoint is taken for the newest: the last name in the order of letters, or of numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from distkb.evidence.readers.scripts.arguments import keyword, spreads_keywords
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import constant, dotted, last, shown, walk
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.written_names import numbered_names

_SORTED = "script.checkpoints-sorted-as-text"
_GLOBS, _LISTS = frozenset({"glob", "iglob", "rglob"}), frozenset({"listdir", "iterdir", "scandir"})
_KEEPS = frozenset({"list", "tuple", "sorted", "filter", "map", "str", "set"})
_AS_TEXT = frozenset({"str", "basename", "name", "stem", "lower", "path"})
"""What a key gives by which the order stays that of letters."""
_TURNS = frozenset({"int", "float", "getmtime", "stat"})
_DEPTH = 6


class _Listed(msgspec.Struct, frozen=True):
    """Names in a folder, as far as what is asked for says how they begin and end."""

    begins: str = ""
    ends: str = ""

    def fits(self, name: str) -> bool:
        """Whether names of this form, with `{}` for a number, are among them."""
        own, end = name.partition("{}")[0].partition("*")[0], name.rpartition("}")[2].rpartition("*")[2]
        if self.ends and end and not end.endswith(self.ends) and not self.ends.endswith(end):
            return False
        return own.startswith(self.begins) if self.begins else bool(own) or name.startswith("{}")


def sorted_as_text(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield the last of sorted file names where the project writes a bare number into such names: 9 comes after 10."""
    if not job.mentions(*_GLOBS, *_LISTS):
        return
    written = list(dict.fromkeys(numbered_names(job.project)))
    for function in job.project.functions if written else ():
        for node in walk(function.node):
            listed = _last_of(node, function, job)
            if listed is None or not isinstance(node, ast.expr):
                continue
            name = next((text for text in written if listed.fits(text)), None)
            if name is not None:
                yield hit(_SORTED, function, node, call=shown(node), name=name)
                break


def _last_of(node: ast.AST, function: Function, job: ScriptContext) -> _Listed | None:
    """Return what is listed in `sorted(listed)[-1]`, `max(listed)` or `listed.sort(); listed[-1]`, by its letters."""
    match node:
        case ast.Call(func=ast.Name(id="max"), args=[listed]):
            return _listing(listed, function, job) if _is_by_letters(node) else None
        case ast.Call(func=ast.Attribute(value=value, attr="pop"), args=[]):
            return _in_order(value, function, job, backwards=False)
        case ast.Call(func=ast.Name(id="next"), args=[ast.Call(func=ast.Name(id="reversed"), args=[value]), *_]):
            return _in_order(value, function, job, backwards=False)
        case ast.Subscript(value=value, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))):
            return _in_order(value, function, job, backwards=False)
        case ast.Subscript(value=value, slice=ast.Constant(value=0)):
            return _in_order(value, function, job, backwards=True)
    return None


def _in_order(
    node: ast.expr, function: Function, job: ScriptContext, depth: int = 0, *, backwards: bool
) -> _Listed | None:
    """Return what a list holds that is sorted by letters, forwards or backwards; None for every other."""
    if depth > _DEPTH:
        return None
    if dotted(node):
        return _named_in_order(node, function, job, depth, backwards=backwards)
    found: _Listed | None = None
    match node:
        case ast.Subscript(value=value, slice=ast.Slice(lower=None, upper=None, step=ast.UnaryOp(op=ast.USub()))):
            found = _in_order(value, function, job, depth + 1, backwards=not backwards)
        case ast.Call(func=ast.Name(id="sorted"), args=[listed]):
            right = _is_by_letters(node) and _is_backwards(node) is backwards
            found = _listing(listed, function, job) if right else None
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[value]):
            found = _in_order(value, function, job, depth + 1, backwards=backwards)
        case ast.ListComp(elt=ast.Name(), generators=[one]):
            found = _in_order(one.iter, function, job, depth + 1, backwards=backwards)
        case ast.Call():
            returned = job.project.returned(node, function)
            every = (_in_order(value, scope, job, depth + 1, backwards=backwards) for value, scope in returned)
            found = next((one for one in every if one is not None), None)
    return found


def _named_in_order(
    node: ast.expr, function: Function, job: ScriptContext, depth: int, *, backwards: bool
) -> _Listed | None:
    """Return what a name holds that is sorted where it stands, or that was given a sorted list."""
    sorts = f"{dotted(node)}.sort"
    in_place = [part for part in walk(function.node) if isinstance(part, ast.Call) and dotted(part.func) == sorts]
    value = _value(node, function, job)
    if in_place:
        right = _is_by_letters(in_place[-1]) and _is_backwards(in_place[-1]) is backwards
        return _listing(value, function, job) if right else None
    return None if value is None else _in_order(value, function, job, depth + 1, backwards=backwards)


def _is_by_letters(call: ast.Call) -> bool:
    """Whether a call sorts by the names as texts."""
    key = keyword(call, "key")
    if key is None or constant(key) is None:
        return not spreads_keywords(call)
    if isinstance(key, ast.Lambda):
        body = key.body
        return last(body.func if isinstance(body, ast.Call) else body) in _AS_TEXT
    return last(key) in _AS_TEXT


def _is_backwards(call: ast.Call) -> bool:
    return constant(keyword(call, "reverse")) is True


def _value(node: ast.expr, function: Function, job: ScriptContext) -> ast.expr | None:
    """Return what a name was given last above its line, or an attribute once."""
    made = job.project.walk(function).assigned(dotted(node), before=node.lineno)
    return made[-1].value if made else job.project.single(node, function)


def _listing(node: ast.expr | None, function: Function, job: ScriptContext, depth: int = 0) -> _Listed | None:
    """Return which names of a folder are listed, behind names, filters and comprehensions that leave them texts."""
    if node is None or depth > _DEPTH:
        return None
    found: _Listed | None = None
    if dotted(node):
        found = _listing(_value(node, function, job), function, job, depth + 1)
    elif isinstance(node, (ast.ListComp, ast.GeneratorExp)) and not _turns(node.elt):
        found = _listing(node.generators[0].iter, function, job, depth + 1)
        found = found and _narrowed(found, [test for one in node.generators for test in one.ifs])
    elif isinstance(node, ast.Call):
        found = _listed_by(node, function, job, depth)
    return found


def _turns(element: ast.expr) -> bool:
    """Whether an element of a comprehension is no name any more, but a number or a pair."""
    return isinstance(element, ast.Tuple) or any(
        isinstance(part, ast.Call) and last(part.func) in _TURNS for part in nodes(element)
    )


def _listed_by(call: ast.Call, function: Function, job: ScriptContext, depth: int) -> _Listed | None:
    called = last(call.func)
    if called in _LISTS:
        return _Listed()
    if called in _GLOBS:
        return _of_pattern(call)
    if called in _KEEPS and call.args:
        is_number = called == "map" and last(call.args[0]) not in _AS_TEXT
        return None if is_number else _listing(call.args[-1], function, job, depth + 1)
    returned = job.project.returned(call, function)
    return _listing(*returned[-1], job, depth + 1) if returned else None


def _narrowed(listed: _Listed, tests: list[ast.expr]) -> _Listed:
    """Return the names that pass `name.startswith(…)` and `name.endswith(…)`."""
    begins, ends = listed.begins, listed.ends
    for part in (part for test in tests for part in nodes(test)):
        match part:
            case ast.Call(func=ast.Attribute(attr="startswith"), args=[ast.Constant(value=str(text))]):
                begins = text
            case ast.Call(func=ast.Attribute(attr="endswith"), args=[ast.Constant(value=str(text))]):
                ends = text
    return _Listed(begins, ends)


def _of_pattern(call: ast.Call) -> _Listed:
    """Return how the names begin and end that a glob's pattern lists, as far as it is written out."""
    texts = [part.value for part in nodes(call) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    parts = [part for text in texts for part in text.split("/") if "*" in part]
    return _Listed(parts[-1].partition("*")[0], parts[-1].rpartition("*")[2].rpartition("]")[2]) if parts else _Listed()


RULES = (ScriptRule(ids=(_SORTED,), check=sorted_as_text),)
