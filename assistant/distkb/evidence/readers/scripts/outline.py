"""The outline of a project: its files, and the classes and functions that a name means in each of them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import PurePath
from typing import TypeVar

from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.names import canonical
from distkb.evidence.readers.scripts.nodes import children
from distkb.evidence.readers.scripts.source import Script

_EXPORTS = 3
"""Files that give on what another one defines."""
_T = TypeVar("_T")


class Outline:
    """The files of a project with what each defines, and has from the others."""

    def __init__(self, scripts: list[Script]) -> None:
        self.scripts = scripts
        self.functions: list[Function] = []
        self.modules: dict[int, Function] = {}
        """The top level of each file, by the file's identity."""
        self.classes: dict[int, dict[str, Class]] = {}
        """The classes of each file, by the file's identity and by name."""
        self._by_suffix: dict[str, list[Script]] = {}
        for script in scripts:
            self._index(script)

    def _index(self, script: Script) -> None:
        parts = list(PurePath(script.name).with_suffix("").parts)
        if parts and parts[-1] == "__init__":
            parts.pop()
        for start in range(len(parts)):
            self._by_suffix.setdefault(".".join(parts[start:]), []).append(script)
        module = Function(name="<module>", script=script, node=script.tree)
        self.modules[id(script)] = module
        self.classes[id(script)] = {}
        self.functions.append(module)
        stack: list[tuple[ast.AST, Function, Class | None]] = [(script.tree, module, None)]
        while stack:
            node, parent, owner = stack.pop()
            for child in children(node):
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    name = child.name if owner is None else f"{owner.name}.{child.name}"
                    function = Function(name=name, script=script, node=child, owner=owner, parent=parent)
                    self.functions.append(function)
                    (parent.inner if owner is None else owner.methods).setdefault(child.name, function)
                    stack.append((child, function, None))
                elif isinstance(child, ast.ClassDef):
                    cls = Class(name=child.name, script=script, node=child)
                    self.classes[id(script)].setdefault(child.name, cls)
                    stack.append((child, parent, cls))
                elif isinstance(child, (ast.stmt, ast.excepthandler)):
                    stack.append((child, parent, owner))

    def class_named(self, node: ast.AST, script: Script) -> Class | None:
        """Return the class of the project that an expression names."""
        name = canonical(node, script)
        own = self.classes[id(script)].get(name)
        if own is not None or "." not in name:
            return own or self._defined(name, script, self._classes_of)
        module, _, final = name.rpartition(".")
        target = self.module_named(module, script)
        return None if target is None else self._defined(final, target, self._classes_of)

    def _classes_of(self, script: Script) -> dict[str, Class]:
        return self.classes[id(script)]

    def function_named(self, name: str, script: Script) -> Function | None:
        """Return the function that a file defines under a name, or has from another file of the project."""
        return self._defined(name, script, self._functions_of)

    def _functions_of(self, script: Script) -> dict[str, Function]:
        return self.modules[id(script)].inner

    def _defined(
        self, name: str, script: Script, defined: Callable[[Script], dict[str, _T]], depth: int = 0
    ) -> _T | None:
        """Return what a file defines under a name, or has from another file of the project, as a package often does."""
        table = defined(script)
        if name in table or depth > _EXPORTS:
            return table.get(name)
        module, dot, final = script.imports.get(name, "").rpartition(".")
        for source, wanted in [(module or ".", final)] if dot else [(star, name) for star in script.stars]:
            other = self.module_named(source, script)
            found = self._defined(wanted, other, defined, depth + 1) if other not in {None, script} else None
            if found is not None:
                return found
        return None

    def module_named(self, name: str, script: Script) -> Script | None:
        """Return the file of the project that a module name means in `script`."""
        if name.startswith("."):
            level = len(name) - len(name.lstrip("."))
            parts = list(PurePath(script.name).parts)[:-level]
            name = ".".join([*parts, *filter(None, name.lstrip(".").split("."))])
        candidates = self._by_suffix.get(name, [])
        if len(candidates) > 1:
            beside = [c for c in candidates if PurePath(c.name).parent == PurePath(script.name).parent]
            candidates = beside or candidates
        return candidates[0] if len(candidates) == 1 else None

    def method(self, cls: Class, name: str, depth: int = 0) -> Function | None:
        """Return a method of a class or of its bases in the project."""
        if name in cls.methods:
            return cls.methods[name]
        if depth > 8:
            return None
        for base in cls.node.bases:
            parent = self.class_named(base, cls.script)
            found = None if parent is None or parent is cls else self.method(parent, name, depth + 1)
            if found is not None:
                return found
        return None
