"""Names in source code: dotted names, what they stand for after imports, and short texts of expressions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from distkb.evidence.readers.scripts.nodes import children, nodes
from distkb.evidence.readers.scripts.source import Script

SHOWN = 80
"""Characters of an expression in a sentence."""


WITHOUT_GRADIENTS = frozenset({"no_grad", "inference_mode"})
"""Context managers and decorators of torch's under which nothing is recorded for a backward."""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` for a chain of attributes on a name; an empty string for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def canonical(node: ast.AST, script: Script) -> str:
    """Return the dotted name with its first part replaced by what was imported under it."""
    name = dotted(node)
    first, dot, rest = name.partition(".")
    target = script.imports.get(first)
    return name if target is None else f"{target}{dot}{rest}"


def last(node: ast.AST) -> str:
    """Return the last part of a name, also behind calls and subscripts: `save` of `f(x).save`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def shown(node: ast.AST) -> str:
    """Return an expression as source text on one line, cut to a readable length."""
    try:
        text = " ".join(ast.unparse(node).split())
    except (ValueError, RecursionError, AttributeError):
        return "…"
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and what lies below it, but not the bodies of functions, classes and lambdas inside."""
    stack: list[ast.AST] = [node]
    while stack:
        here = stack.pop()
        yield here
        stack += [child for child in children(here) if not isinstance(child, _SCOPES)]


def names_in(node: ast.AST) -> set[str]:
    """Return every variable that an expression mentions."""
    return {part.id for part in nodes(node) if isinstance(part, ast.Name)}


def words(node: ast.AST) -> set[str]:
    """Return every name and attribute that an expression mentions."""
    return words_of(nodes(node))


def words_of(parts: Iterable[ast.AST]) -> set[str]:
    """Return every name and attribute among nodes."""
    found: set[str] = set()
    for part in parts:
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Attribute):
            found.add(part.attr)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            found.add(part.value)
    return found


def constant(node: ast.AST | None) -> object:
    """Return the value of a literal; an own object that equals nothing else where it is none."""
    return node.value if isinstance(node, ast.Constant) else _NOTHING


_NOTHING = object()
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
