"""What a project defines: its classes and functions, and where in its files they stand."""

from __future__ import annotations

import ast

import msgspec

from distkb.evidence.readers.scripts.source import Script
from distkb.evidence.readers.scripts.values import FunctionNode


class Class(msgspec.Struct, frozen=True, eq=False):
    """A class of the project."""

    name: str
    script: Script
    node: ast.ClassDef
    methods: dict[str, Function] = msgspec.field(default_factory=dict)


class Function(msgspec.Struct, frozen=True, eq=False):
    """A function, a method, or the top level of a file."""

    name: str
    """`train`, `Trainer.save`; `<module>` for the top level."""
    script: Script
    node: FunctionNode
    owner: Class | None = None
    parent: Function | None = None
    inner: dict[str, Function] = msgspec.field(default_factory=dict)

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters that can be given by position."""
        if isinstance(self.node, ast.Module):
            return []
        return [argument.arg for argument in (*self.node.args.posonlyargs, *self.node.args.args)]

    def default(self, name: str) -> ast.expr | None:
        """Return what a parameter is where nobody gives it."""
        if isinstance(self.node, ast.Module):
            return None
        arguments = self.node.args
        defaults = dict(zip(reversed(self.parameters), reversed(arguments.defaults), strict=False))
        only = (one.arg for one in arguments.kwonlyargs)
        return defaults.get(name) or dict(zip(only, arguments.kw_defaults, strict=True)).get(name)

    @property
    def bases(self) -> list[ast.expr]:
        """What the class of which it is a method is made of; nothing of any other function."""
        return [] if self.owner is None else self.owner.node.bases

    @property
    def is_method(self) -> bool:
        """Whether the first parameter is the object."""
        return self.owner is not None and self.parameters[:1] in (["self"], ["cls"])


def around(value: ast.expr, owner: Class | None, function: Function) -> Function:
    """Return the method of a class in which an expression stands; the function where there is none."""
    for method in owner.methods.values() if owner is not None else ():
        first, last = getattr(method.node, "lineno", 0), getattr(method.node, "end_lineno", None) or 0
        if first <= value.lineno <= last:
            return method
    return function
