"""Numbers that a LightningModule logs, where its callbacks and its own hooks read them again by name."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.readers.scripts.arguments import argument, keyword
from distkb.evidence.readers.scripts.metrics import metrics_of
from distkb.evidence.readers.scripts.names import constant, last

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.evidence.readers.scripts.definitions import Function
    from distkb.evidence.readers.scripts.project import Project

_HELD = frozenset({"callback_metrics", "logged_metrics", "progress_bar_metrics"})
"""Where the trainer keeps what was logged."""
_LOGS = frozenset({"log", "log_dict"})
_MODULES = frozenset({"self", "pl_module", "module", "model"})
_DEPTH = 4


class Logged(msgspec.Struct, frozen=True, eq=False):
    """One number that is logged."""

    value: ast.expr
    function: Function
    together: bool
    """Whether the ranks' numbers are brought together for it, or may be."""


def reads_logged(node: ast.expr, function: Function, project: Project) -> ast.expr | None:
    """Return the name under which an expression reads a logged number: that of `trainer.callback_metrics[name]`."""
    match node:
        case (
            ast.Subscript(value=held, slice=key) | ast.Call(func=ast.Attribute(value=held, attr="get"), args=[key, *_])
        ):
            made = project.single(held, function) if isinstance(held, ast.Name) else None
            return key if last(made if made is not None else held) in _HELD else None
    return None


def logged_as(key: ast.expr, function: Function, project: Project) -> list[Logged]:
    """Return what is logged under a name, as far as the name is plain; nothing where it is not."""
    names = set(_texts(key, function, project, 0))
    every = [(name, logged) for one in project.functions for name, logged in _logged(one, project)]
    return [logged for name, logged in every if any(re.fullmatch(name, text) for text in names)]


def _texts(node: ast.expr, function: Function, project: Project, depth: int) -> Iterator[str]:
    """Yield the texts that an expression may stand for; that of a default where nobody gives another."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, (ast.Name, ast.Attribute)) and depth < _DEPTH:
        held = project.stands_for(node, function)
        for value, scope in held:
            yield from _texts(value, scope, project, depth + 1)
        default = function.default(node.id) if isinstance(node, ast.Name) and not held else None
        if default is not None:
            yield from _texts(default, function, project, depth + 1)


def _logged(function: Function, project: Project) -> Iterator[tuple[str, Logged]]:
    """Yield what a function logs, with a pattern of its name."""
    for site in project.walk(function).sites:
        func, given = site.node.func, site.node.args
        if not isinstance(func, ast.Attribute) or func.attr not in _LOGS or last(func.value) not in _MODULES:
            continue
        synced = keyword(site.node, "sync_dist")
        together = synced is not None and constant(synced) is not False
        pairs = _of_table(given, function, project) if func.attr == "log_dict" else _of_pair(site.node)
        for key, value in pairs:
            pattern = _pattern(key)
            if pattern:
                alike = together or bool(metrics_of(value, function, project))
                yield pattern, Logged(value, function, alike)


def _of_pair(call: ast.Call) -> Iterator[tuple[ast.expr, ast.expr]]:
    name = argument(call, "name", 0)
    value = argument(call, "value", 1)
    if name is not None and value is not None:
        yield name, value


def _of_table(given: list[ast.expr], function: Function, project: Project) -> Iterator[tuple[ast.expr, ast.expr]]:
    for table in given[:1]:
        held = project.single(table, function) if isinstance(table, ast.Name) else table
        if isinstance(held, ast.Dict):
            yield from ((key, value) for key, value in zip(held.keys, held.values, strict=True) if key is not None)


def _pattern(name: ast.expr) -> str:
    """Return a pattern for a name that is written out, or put together with other parts."""
    if isinstance(name, ast.Constant):
        return re.escape(name.value) if isinstance(name.value, str) else ""
    parts = name.values if isinstance(name, ast.JoinedStr) else []
    texts = [re.escape(p.value) if isinstance(p, ast.Constant) and isinstance(p.value, str) else ".+" for p in parts]
    return "".join(texts) if any(text != ".+" for text in texts) else ""
