"""What a function or a class assigns to its names and attributes, as far as that is written out."""

from __future__ import annotations

import ast

from distkb.evidence.readers.scripts.nodes import children, nodes, targets_of

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module


def plain_values(scope: FunctionNode) -> dict[str, list[ast.expr]]:
    """Return what is assigned to each name in a function; a target of another kind stands for itself."""
    found: dict[str, list[ast.expr]] = {}
    stack: list[ast.AST] = list(scope.body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(node, ast.Assign):
            pairs = [pair for target in node.targets for pair in _pairs(target, node.value)]
            for target, value in pairs:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(value)
            stack.append(node.value)
            stack += [target for target, _ in pairs if not isinstance(target, ast.Name)]
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.setdefault(node.id, []).append(node)
        stack += children(node)
    return found


def attributes(owner: ast.ClassDef) -> dict[str, list[ast.expr]]:
    """Return what is assigned or added to each attribute of `self` in a class."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes(owner):
        if not isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) or node.value is None:
            continue
        for whole in targets_of(node):
            for target, value in _pairs(whole, node.value):
                if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                    found.setdefault(target.attr, []).append(value)
    return found


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Return what an assignment puts where: one to one where both sides are written out and equally long."""
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        starred = any(isinstance(one, ast.Starred) for one in (*target.elts, *value.elts))
        if len(target.elts) == len(value.elts) and not starred:
            return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]
