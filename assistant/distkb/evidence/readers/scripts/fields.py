"""The fields of classes whose constructor Python writes: dataclasses and named tuples."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from distkb.evidence.readers.scripts.arguments import keyword

if TYPE_CHECKING:
    from distkb.evidence.readers.scripts.definitions import Class


class Fields(NamedTuple):
    """Names in the order of the constructor's arguments, and what they are where nothing is given."""

    defaults: dict[str, ast.expr | None]

    def given(self, made: ast.expr, name: str) -> ast.expr | None:
        """Return what an object gets for a field where it is made; None where that is not plain."""
        if not isinstance(made, ast.Call):
            return None
        place = list(self.defaults).index(name)
        if any(isinstance(one, ast.Starred) for one in made.args[: place + 1]):
            return None
        return keyword(made, name) or (made.args[place] if place < len(made.args) else self.defaults[name])


def fields_of(node: ast.Attribute, owner: Class | None) -> Fields | None:
    """Return the fields of a class of which an attribute is one; None where it is none, or a constructor is written."""
    if owner is None or "__init__" in owner.methods:
        return None
    own = {
        one.target.id: one.value
        for one in owner.node.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    }
    return Fields(own) if node.attr in own else None
