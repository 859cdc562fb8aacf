"""What stands in code, as words that can be counted: what is called, with what, where, and after what.

Two programs that fail alike call the same things in the same way, whatever their variables are called: a word here is
`call:barrier`, `under:rank:barrier` (in a branch that depends on the rank), `option:DataLoader.shuffle=True` or
`then:backward>step`. Files that are no Python are taken by the settings and options that stand in them.
"""

from __future__ import annotations

import ast
import contextlib
import re
import textwrap
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LONG = 40
"""Characters of an expression that are compared."""
_WIDE = 80
"""Characters that an expression may have to be compared at all."""
_STRING = 30
"""Characters of a text that may be a name."""
_GIVEN = 3
"""Arguments by position that are looked at."""
_RANK = re.compile(r"(?i)rank|is_main|main_process|is_global_zero|master")
_NUMBER = re.compile(r"\d+")
_SETTING = re.compile(r"[A-Za-z_][\w.-]{0,60}(?:\s{0,4}[:=]\s{0,4}[\"']?[\w./-]{1,60})?")
_OPTION = re.compile(r"--?[A-Za-z][\w-]{0,60}(?:[= ][\w.$]{1,60})?")


def code_words(text: str) -> set[str]:
    """Return the words of a piece of code: a whole file of Python, lines of one, or lines of something else."""
    for candidate in (text, textwrap.dedent(text), "def _():\n" + textwrap.indent(text, "  ")):
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            return tree_words(ast.parse(candidate))
    return setting_words(text)


def setting_words(text: str) -> set[str]:
    """Return the words of a configuration, or of lines of a shell."""
    found = {"set:" + re.sub(r"[\s\"']", "", word) for word in _SETTING.findall(text)}
    return found | {"option:" + word.replace(" ", "=") for word in _OPTION.findall(text)}


@cache  # the examples of a catalogue are the same however often it is built
def file_words(name: str, text: str) -> frozenset[str]:
    """Return the words of a file, by what its name says that it is."""
    return frozenset(code_words(text) if name.endswith(".py") else setting_words(text))


def tree_words(tree: ast.Module) -> set[str]:
    """Return the words of a parsed file; of one that is nested without end, those that were found till then."""
    words = _Words()
    with contextlib.suppress(RecursionError):
        words.take_body(tree)
    return words.found


class _Words:
    def __init__(self) -> None:
        self.found: set[str] = set()

    def take_body(self, node: ast.AST) -> None:
        """Take a file or a function, whose calls follow one another."""
        order: list[str] = []
        for child in ast.iter_child_nodes(node):
            self._take(child, (), order)
        calls = [name for at, name in enumerate(order) if not at or name != order[at - 1]]
        self.found.update(f"then:{a}>{b}" for a, b in pairwise(calls))

    def _take(self, node: ast.AST, under: tuple[str, ...], order: list[str]) -> None:
        """Take a node: `under` are the loops and the kinds of tests around it, `order` the calls before it."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self.found.add("def:" + node.name)
            self.take_body(node)
        elif isinstance(node, ast.If):
            test = _short(node.test)
            kind = "rank" if _RANK.search(test) else "other"
            self.found.add("if:" + _NUMBER.sub("#", test)[:LONG])
            self._take(node.test, under, order)
            self._take_all(node.body, (*under, kind), order)
            self._take_all(node.orelse, (*under, "not-" + kind), order)
        else:
            inside = (*under, "loop") if isinstance(node, ast.For | ast.While) else under
            self._take_all(ast.iter_child_nodes(node), inside, order)
            if isinstance(node, ast.Call):
                self.found |= _call_words(node, under, order)
            elif (words := _PLAIN.get(type(node))) is not None:
                self.found.update(words(node))

    def _take_all(self, nodes: Iterable[ast.AST], under: tuple[str, ...], order: list[str]) -> None:
        for node in nodes:
            self._take(node, under, order)


def _call_words(node: ast.Call, under: tuple[str, ...], order: list[str]) -> set[str]:
    name = _last(node.func)
    if name is None:
        return set()
    order.append(name)
    words = {"call:" + name, *(f"under:{where}:{name}" for where in under)}
    for option in node.keywords:
        if option.arg is not None:
            words |= {f"option:{name}.{option.arg}", f"option:{name}.{option.arg}={_short(option.value)[:LONG]}"}
    for at, given in enumerate(node.args[:_GIVEN]):
        value = str(given.value) if isinstance(given, ast.Constant) else _last(getattr(given, "func", given))
        if value is not None:
            words.add(f"given:{name}.{at}={value[:LONG]}")
    return words


def _of_import(node: ast.Import | ast.ImportFrom) -> list[str]:
    return [f"import:{getattr(node, 'module', None) or ''}.{name.name}" for name in node.names]


_PLAIN: dict[type[ast.AST], Callable[[Any], Iterable[str]]] = {
    ast.Attribute: lambda node: ["name:" + node.attr],
    ast.ClassDef: lambda node: [f"base:{_last(base)}" for base in node.bases],
    ast.With: lambda node: ["with:" + _short(item.context_expr)[:LONG] for item in node.items],
    ast.ExceptHandler: lambda node: ["except:" + ("" if node.type is None else _short(node.type))],
    ast.Assign: lambda node: ["set:" + _short(node)[:LONG]] if isinstance(node.value, ast.Constant) else [],
    ast.Constant: lambda node: ["text:" + node.value] if _is_name(node.value) else [],
    ast.BinOp: lambda node: ["value:" + _NUMBER.sub("#", _short(node))[:LONG]],
    ast.Import: _of_import,
    ast.ImportFrom: _of_import,
}
"""By kind of node, what makes its words."""


def _is_name(value: object) -> bool:
    return isinstance(value, str) and len(value) < _STRING


def _short(node: ast.expr | ast.Assign) -> str:
    """Return an expression as text, where it is a short one; writing out a long one again takes its time."""
    one_line = node.lineno == node.end_lineno and (node.end_col_offset or 0) - node.col_offset <= _WIDE
    return ast.unparse(node) if one_line else ""


def _last(node: ast.AST) -> str | None:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None
