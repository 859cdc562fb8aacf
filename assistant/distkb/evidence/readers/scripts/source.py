"""Opens and parses one Python file; nothing of it is imported or run."""

from __future__ import annotations

import ast
from functools import cached_property
from pathlib import Path

import msgspec

from distkb.evidence.observation import Skipped
from distkb.evidence.readers.scripts.nodes import children, nodes
from distkb.evidence.text.clean import quote_text
from distkb.evidence.text.opening import SNIFF, UnreadableError, is_binary, open_regular, reason
from distkb.evidence.text.syntax import parse_python

MAX_BYTES = 2 << 20
"""Bytes of one script."""
MAX_DEPTH = 120
"""Statements nested in one another; Python itself allows 100 levels of indentation, chains of `elif` come on top."""


class Script(msgspec.Struct, frozen=True, eq=False, dict=True):
    """One parsed file."""

    path: Path
    name: str
    """As the user named it."""
    lines: tuple[str, ...]
    tree: ast.Module
    size: int
    imports: dict[str, str] = msgspec.field(default_factory=dict)
    """Name in the file → dotted name of what it stands for; relative imports keep their leading dots."""
    stars: tuple[str, ...] = ()
    """Modules of which all names are imported."""

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree, the upper before the lower."""
        return nodes(self.tree)


def load_script(path: Path) -> Script | Skipped:
    """Return the parsed file, or why it cannot be read."""
    try:
        with open_regular(path) as raw:
            data = raw.read(MAX_BYTES + 1)
    except UnreadableError as error:
        return Skipped(path=str(path), code=error.code, detail=error.detail)
    except (OSError, ValueError) as error:
        code, detail = reason(error)
        return Skipped(path=str(path), code="not-a-file" if path.is_dir() else code, detail=detail)
    if len(data) > MAX_BYTES:
        return Skipped(path=str(path), code="too-large-script", detail=f"{MAX_BYTES >> 20} MiB")
    if not data.strip():
        return Skipped(path=str(path), code="empty")
    if is_binary(data[:SNIFF]) or b"\0" in data:
        return Skipped(path=str(path), code="binary")
    return _parse(path, data)


def _parse(path: Path, data: bytes) -> Script | Skipped:
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    try:
        tree = parse_python(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        what = getattr(error, "msg", None) or "unreadable"
        detail = f"line {line}: {what}" if line else str(what)
        return Skipped(path=str(path), code="not-python", detail=quote_text(detail, width=120))
    if _depth(tree) > MAX_DEPTH:
        return Skipped(path=str(path), code="too-deep")
    imports, stars = _imports(tree)
    return Script(
        path=path,
        name=str(path),
        lines=tuple(text.split("\n")),
        tree=tree,
        size=len(data),
        imports=imports,
        stars=stars,
    )


def _depth(tree: ast.Module) -> int:
    """Return how deeply statements are nested, without recursion."""
    deepest = 0
    stack: list[tuple[ast.AST, int]] = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        stack += [
            (child, depth + 1)
            for child in children(node)
            if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case))
        ]
    return deepest


def _imports(tree: ast.Module) -> tuple[dict[str, str], tuple[str, ...]]:
    found: dict[str, str] = {}
    stars: list[str] = []
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    found[alias.asname] = alias.name
                else:
                    first = alias.name.partition(".")[0]
                    found.setdefault(first, first)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                if alias.name == "*":
                    stars.append(module)
                else:
                    joint = "" if module.endswith(".") else "."
                    found[alias.asname or alias.name] = f"{module}{joint}{alias.name}"
    return found, tuple(stars)
