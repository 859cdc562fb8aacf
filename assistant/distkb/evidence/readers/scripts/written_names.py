"""Names of files as a program puts them together, and which of them hold a number that has no fixed width."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from distkb.evidence.readers.scripts.arguments import arguments
from distkb.evidence.readers.scripts.names import dotted, last
from distkb.evidence.readers.scripts.nodes import nodes

if TYPE_CHECKING:
    from distkb.evidence.readers.scripts.definitions import Function
    from distkb.evidence.readers.scripts.project import Project

_CHECKPOINTS = re.compile(r"(?i)step|epoch|iter|ckpt|checkpoint|snapshot|model|state|^\{\}(?:\.pth?|\.ckpt|\.bin)?$")
_SAVES = re.compile(r"(?i)save|dump|write|^open$|mkdir|makedirs")
_COUNTS = re.compile(
    r"(?i)step|epoch|iter|round|tokens|updates?$|samples|batch(?:_?idx|es)|^(?:i|n|it|idx|num|count|version|number)$"
)
_PERCENT, _BRACES = re.compile(r"%([sdi])|%[-+ #0-9.]*\w"), re.compile(r"\{(\w*)(:[^{}]*)?\}")
"""Fields of older texts: the first group says that one has no width, the other the name of one and its width."""
_WIDENS = frozenset({"zfill", "rjust", "format", "strftime", "isoformat", "hexdigest", "ljust", "center"})
_DEPTH = 3
Lookup = Callable[[ast.expr], "ast.expr | None"]


def numbered_names(project: Project) -> Iterator[str]:
    """Yield names of saved files that are put together with a number of no fixed width: `step_{}.pt`."""
    for function in project.functions:
        for site in project.walk(function).sites:
            if _SAVES.search(last(site.node.func)):
                for given in arguments(site.node):
                    for text in _texts(given, function, project):
                        parts = (part for part in text.split("/") if "{}" in part)
                        yield from (part for part in parts if _CHECKPOINTS.search(part))


def _texts(given: ast.expr, function: Function, project: Project, depth: int = 0) -> Iterator[str]:
    """Yield the texts in an expression, also behind its names and the project's functions that it calls."""
    for node in nodes(given):
        text = _put_together(node, lambda name: project.single(name, function))
        if text:
            yield text
        elif depth < _DEPTH and isinstance(node, (ast.Name, ast.Attribute)) and dotted(node):
            for value, scope in project.stands_for(node, function):
                yield from _texts(value, scope, project, depth + 1)
        elif depth < _DEPTH and isinstance(node, ast.Call):
            for value, scope in project.returned(node, function):
                yield from _texts(value, scope, project, depth + 1)


def _put_together(node: ast.AST, lookup: Lookup) -> str:
    """Return a text that is made of parts, with `{}` for a bare count and `*` for what else is put in; else nothing."""
    match node:
        case ast.JoinedStr(values=values):
            return "".join(_part(one, lookup) for one in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return "".join(_part(one, lookup) for one in _sum(left, right))
        case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod(), right=right):
            terms = iter(right.elts if isinstance(right, ast.Tuple) else [right])
            return _PERCENT.sub(lambda field: _filled(next(terms, None), lookup, bare=bool(field[1])), text)
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format")):
            named = {word.arg: word.value for word in node.keywords}
            given = iter(node.args)
            return _BRACES.sub(
                lambda field: _filled(named.get(field[1]) or next(given, None), lookup, bare=_is_bare(field[2] or "")),
                text,
            )
    return ""


def _sum(*terms: ast.expr) -> Iterator[ast.expr]:
    """Yield the terms of a sum in order."""
    for term in terms:
        if isinstance(term, ast.BinOp) and isinstance(term.op, ast.Add):
            yield from _sum(term.left, term.right)
        else:
            yield term


def _part(part: ast.expr, lookup: Lookup) -> str:
    """Return one part of a text; a field with a width of its own is no bare number."""
    match part:
        case ast.Constant(value=value):
            return str(value)
        case ast.FormattedValue(value=value, conversion=conversion, format_spec=spec):
            width = ":" + "".join(str(getattr(one, "value", "*")) for one in getattr(spec, "values", ()))
            return _filled(value, lookup, bare=conversion == -1 and _is_bare(width))
        case ast.Call(func=ast.Name(id="str"), args=[value]):
            return _filled(value, lookup, bare=True)
    return "*"


def _is_bare(width: str) -> bool:
    return width in {"", ":", ":d", ":,", ":s"}


def _filled(value: ast.expr | None, lookup: Lookup, *, bare: bool) -> str:
    if value is None or not bare or _is_widened(value, lookup):
        return "*"
    return "{}" if any(_COUNTS.search(last(node)) for node in nodes(value)) else "*"


def _is_widened(value: ast.expr, lookup: Lookup) -> bool:
    """Whether a value is a text already, of a width or form that was chosen for it."""
    made = lookup(value) if dotted(value) else value
    if isinstance(made, ast.JoinedStr) or (isinstance(made, ast.BinOp) and isinstance(made.op, ast.Mod)):
        return not isinstance(made, ast.BinOp) or isinstance(made.left, ast.Constant)
    return made is not None and any(isinstance(n, ast.Call) and last(n.func) in _WIDENS for n in nodes(made))
