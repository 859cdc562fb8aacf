"""What a call in source code is given, by name and by place, and of which object it is a method."""

from __future__ import annotations

import ast


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """Return the value of a keyword argument."""
    return next((word.value for word in call.keywords if word.arg == name), None)


def positional(call: ast.Call, place: int) -> ast.expr | None:
    """Return the argument at a place."""
    return call.args[place] if 0 <= place < len(call.args) else None


def argument(call: ast.Call, name: str, place: int) -> ast.expr | None:
    """Return an argument that is given by its name, or else at its place."""
    return keyword(call, name) or positional(call, place)


def arguments(call: ast.Call) -> list[ast.expr]:
    """Return all that a call is given, by place and by name."""
    return [*call.args, *(word.value for word in call.keywords)]


def receiver(call: ast.Call) -> ast.expr | None:
    """Return the object of which a method is called."""
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def spreads_keywords(call: ast.Call) -> bool:
    """Whether arguments are hidden in `**kwargs`."""
    return any(word.arg is None for word in call.keywords)


def has_spread(call: ast.Call) -> bool:
    """Whether arguments are hidden in `*args` or `**kwargs`."""
    return spreads_keywords(call) or any(isinstance(a, ast.Starred) for a in call.args)
