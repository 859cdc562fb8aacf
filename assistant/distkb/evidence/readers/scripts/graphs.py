"""Which values of a script hold on to the graph of a forward that made them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import arguments
from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last
from distkb.evidence.readers.scripts.names import walk as below
from distkb.evidence.readers.scripts.nodes import nodes, targets_of
from distkb.evidence.readers.scripts.project import Project

ENDS_GRAPH = frozenset({"item", "detach", "float", "tolist", "numpy", "cpu", "data", "clone_detached"})
_NO_GRAPH = ENDS_GRAPH | {
    "int", "bool", "len", "str", "format", "argmax", "argmin", "eq", "ne", "gt", "ge", "lt", "le", "sign", "long",
    "round", "size", "dim", "numel", "isnan", "isfinite", "nonzero", "shape", "device", "dtype", "grad", "tensor",
    "ones_like", "zeros_like", "full_like", "empty_like", "rand_like", "randn_like",
}  # fmt: skip
"""Methods, functions and attributes whose result has no graph."""
_STAYS = frozenset({"float", "cpu"})
"""Of these names the methods of tensors, whose result keeps the graph: `x.float()`, but not `float(x)`."""
_QUIET = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})
_MODELS = re.compile(
    r"(?i)^(?:ddp_?|fsdp_?)?(?:model|net|network|module|engine|policy|encoder|decoder|backbone|student)(?:_?\w*)$"
)
_FIXED = re.compile(r"(?i)teacher|ema|target|frozen|ref(?:erence)?(?:_|$)|metric")
_CRITERION = re.compile(r"(?i)loss|criterion|objective")
_WRAPPED = frozenset({kinds.DDP, kinds.FSDP1, kinds.FSDP2, kinds.ENGINE})
_DEPTH = 8


class Graphs:
    """Follows values through the assignments and functions of a project to a forward."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._without: dict[int, set[int]] = {}
        self._filled: dict[int, dict[str, list[tuple[int, ast.expr]]]] = {}

    def carries(self, node: ast.expr, function: Function, depth: int = 0) -> bool:
        """Whether a value was made by a forward, with nothing between that ends its graph."""
        if depth > _DEPTH or id(node) in self._in_quiet(function):
            return False
        follow = [part for part in _parts(node) if part is not None]
        if follow:
            return any(self.carries(part, function, depth) for part in follow)
        if isinstance(node, ast.Attribute):
            return node.attr not in _NO_GRAPH and self.carries(node.value, function, depth)
        if isinstance(node, ast.Name):
            return self._named(node, function, depth + 1)
        return isinstance(node, ast.Call) and self._called(node, function, depth + 1)

    def _named(self, node: ast.Name, function: Function, depth: int) -> bool:
        made = self._project.walk(function).assigned(node.id, before=node.lineno)
        since = made[-1].line if made else 0
        put = [value for line, value in self._pieces(function).get(node.id, ()) if since <= line < node.lineno]
        if self._any_carries(((value, function) for value in put), depth):
            return True
        if not made:
            given = self._project.given(node.id, function) if node.id in function.parameters else ()
            return self._any_carries(given, depth)
        one = made[-1]
        if one.index is None:
            return self.carries(one.value, function, depth)
        return self._any_carries(self._project.returned(one.value, function, one.index), depth)

    def _called(self, call: ast.Call, function: Function, depth: int) -> bool:
        name, full = last(call.func), canonical(call.func, function.script)
        if name in _NO_GRAPH and not (name in _STAYS and isinstance(call.func, ast.Attribute)):
            return False
        if self._is_forward(call, function):
            return True
        given = arguments(call)
        if full.startswith("torch.") or _CRITERION.search(name):
            made = full.startswith("torch.") and name[:1].isupper()
            return not made and any(self.carries(value, function, depth) for value in given)
        if self._project.target(call, function) is not None:
            return self._any_carries(self._project.returned(call, function), depth)
        return isinstance(call.func, ast.Attribute) and self.carries(call.func.value, function, depth)

    def _pieces(self, function: Function) -> dict[str, list[tuple[int, ast.expr]]]:
        """Return what a function adds to a name or puts into it piece by piece, with the lines."""
        if id(function) not in self._filled:
            walk, found = self._project.walk(function), dict[str, list[tuple[int, ast.expr]]]()
            for name, added in walk.changes.items():
                found.setdefault(name, []).extend((one.line, one.value) for one in added)
            for name, sites in walk.puts.items():
                found.setdefault(name, []).extend((site.node.lineno, site.node.args[0]) for site in sites)
            for node in below(function.node):
                if isinstance(node, (ast.Assign, ast.AugAssign)):
                    for name in _filled_by(node):
                        found.setdefault(name, []).append((node.lineno, node.value))
            self._filled[id(function)] = found
        return self._filled[id(function)]

    def _any_carries(self, values: Iterable[tuple[ast.expr, Function]], depth: int) -> bool:
        return any(self.carries(value, scope, depth) for value, scope in values)

    def _is_forward(self, call: ast.Call, function: Function) -> bool:
        """Whether a model is called: `self(x)`, `self.net(x)`, `model(x)`, `super().training_step(batch, i)`."""
        func, owner = call.func, self._project.owner_of(function)
        own = owner is not None and is_model(owner)
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Call) and last(func.value.func) == "super":
            return func.attr == "compute_loss" or (own and func.attr in {"forward", "training_step"})
        if dotted(func) in {"self", "self.forward"}:
            return own
        if _FIXED.search(last(func)) or not dotted(func):
            return False
        if own and isinstance(func, ast.Attribute) and dotted(func.value) == "self":
            held = self._project.held_under(func, function)
            if any(isinstance(v, ast.Call) and self._is_layer(v, scope) for v, scope in held):
                return True
        if kinds.kind_of(func, function, self._project, call.lineno) in _WRAPPED:
            return True
        return _MODELS.match(last(func)) is not None and self._project.target(call, function) is None

    def _is_layer(self, call: ast.Call, function: Function) -> bool:
        made = self._project.class_named(call.func, function.script)
        full = canonical(call.func, function.script)
        return is_model(made) if made is not None else full.startswith("torch.nn.") and "Loss" not in full

    def _in_quiet(self, function: Function) -> set[int]:
        """Return what a function does without gradients, by identity."""
        if id(function) not in self._without:
            marked = any(_is_quiet(one) for one in getattr(function.node, "decorator_list", ()))
            blocks = [function.node] if marked else [n for n in nodes(function.node) if _turns_off(n)]
            self._without[id(function)] = {id(part) for block in blocks for part in nodes(block)}
        return self._without[id(function)]


def is_model(owner: Class) -> bool:
    """Whether a class is a model of torch or of Lightning."""
    return "forward" in owner.methods or any(last(base).endswith("Module") for base in owner.node.bases)


def _filled_by(node: ast.Assign | ast.AugAssign) -> list[str]:
    """Return the names of which a statement fills a part, but for one under a key that is written out."""
    targets = targets_of(node)
    parts = [one for one in targets if isinstance(one, ast.Subscript) and not isinstance(constant(one.slice), str)]
    return [dotted(one.value) for one in parts if isinstance(one.value, ast.Name)]


def _turns_off(node: ast.AST) -> bool:
    return isinstance(node, (ast.With, ast.AsyncWith)) and any(_is_quiet(item.context_expr) for item in node.items)


def _is_quiet(node: ast.expr) -> bool:
    return last(node.func if isinstance(node, ast.Call) else node) in _QUIET


def _parts(node: ast.expr) -> list[ast.expr | None]:
    """Return the parts of an expression of which any has the graph that the whole has."""
    match node:
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.UnaryOp(operand=inner) | ast.Subscript(value=inner) | ast.NamedExpr(value=inner):
            return [inner]
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            return list(parts)
        case ast.ListComp(elt=inner) | ast.GeneratorExp(elt=inner):
            return [inner]
        case ast.IfExp(body=one, orelse=other):
            return [one, other]
    return []
