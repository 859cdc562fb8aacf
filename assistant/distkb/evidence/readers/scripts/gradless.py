"""Which inputs of a checkpoint carry no gradient: a batch as it came, or what frozen parts of the model made of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import arguments, keyword, positional
from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.hit import ScriptContext
from distkb.evidence.readers.scripts.names import WITHOUT_GRADIENTS, canonical, constant, dotted, last, words
from distkb.evidence.readers.scripts.nodes import nodes

_DEEPEST = 12
_PLAIN = frozenset({"int", "float", "len", "range", "bool", "min", "max"})
_ENDS = frozenset({"detach", "size", "dim", "eq", "ne", "gt", "lt", "long", "bool", "int", "argmax"})
"""Methods whose result has no gradient, whatever they are called on."""
_LIBRARY = ("torch.", "math.", "einops.")
_HOLDERS = frozenset({"Sequential", "ModuleList", "PipelineStage"})
_MADE = ("torch.nn.", "Linear", "Embedding", "Parameter")


def is_checkpoint(call: ast.Call, function: Function) -> bool:
    """Whether a call runs a part under a checkpoint of the reentrant kind, which is also torch's default."""
    full = canonical(call.func, function.script)
    if not full.startswith("torch.utils.checkpoint") or last(call.func) == "set_checkpoint_debug_enabled":
        return False
    told = keyword(call, "use_reentrant")
    return bool(call.args) and (told is None or constant(told) is True)


def inputs(call: ast.Call) -> list[ast.expr]:
    """Return what a checkpoint gives to the part that it runs."""
    first = 2 if last(call.func) == "checkpoint_sequential" else 1
    return [*call.args[first:], *(word.value for word in call.keywords if word.arg == "input")]


class Gradless:
    """Follows the inputs of checkpoints back in the forward of a model."""

    def __init__(self, job: ScriptContext) -> None:
        self._job = job
        self._frozen: dict[int, set[str]] = {}
        self._met = False
        """Whether the way back came through a frozen part, or a block without gradients."""
        self.asks = any(_asks_for_gradient(node) for script in job.project.scripts for node in script.nodes)
        """Whether any script asks for the gradient of an input."""

    def is_blind(self, call: ast.Call, function: Function) -> bool:
        """Whether no input of a checkpoint in a model's forward carries a gradient."""
        given = inputs(call)
        owner = self._job.project.owner_of(function)
        if self.asks or not given or owner is None or any(isinstance(one, ast.Starred) for one in given):
            return False
        if not function.name.endswith(".forward") or self._is_inner(owner):
            return False
        self._met = False
        return all(self._is_free(one, function, owner, 0) for one in given) and (self._met or self._gets_batches(owner))

    def _is_inner(self, owner: Class) -> bool:
        """Whether another class, or a list of layers, holds the model, whose input may then carry a gradient."""
        for node in (node for script in self._job.project.scripts for node in script.nodes):
            holds = isinstance(node, ast.ClassDef) and node is not owner.node and "forward" in _methods(node)
            holds |= isinstance(node, ast.Call) and last(node.func) in _HOLDERS
            if holds and any(isinstance(part, ast.Name) and part.id == owner.name for part in nodes(node)):
                return True
        return False

    def _gets_batches(self, owner: Class) -> bool:
        """Whether a loop gives the model what it takes out of a loader."""
        for function, site in self._job.sites():
            taken = {name for loop in site.where.loops if isinstance(loop, ast.For) for name in words(loop.target)}
            given = taken and any(words(one) & taken for one in site.node.args)
            if given and kinds.model_class(site.node.func, function, self._job.project) is owner:
                return True
        return False

    def _is_free(self, node: ast.expr, function: Function, owner: Class, depth: int) -> bool:
        if depth > _DEEPEST or isinstance(node, (ast.Constant, ast.Lambda)):
            return isinstance(node, ast.Constant)
        if isinstance(node, ast.Name):
            return self._is_free_name(node, function, owner, depth)
        if isinstance(node, ast.Attribute):
            if dotted(node.value) == "self":
                return self._is_free_attribute(node.attr, owner)
            return node.attr in {"shape", "device", "dtype"} or self._is_free(node.value, function, owner, depth + 1)
        if isinstance(node, ast.Call):
            return self._is_free_call(node, function, owner, depth)
        parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
        return all(self._is_free(p, function, owner, depth + 1) for p in parts)

    def _is_free_name(self, node: ast.Name, function: Function, owner: Class, depth: int) -> bool:
        walk = self._job.project.walk(function)
        changed = [one for one in walk.changes.get(node.id, ()) if one.line < node.lineno]
        made = [*walk.assigned(node.id, before=node.lineno), *changed]
        for one in made:
            if any(isinstance(part, ast.Call) and is_checkpoint(part, function) for part in nodes(one.value)):
                continue
            if one.where.entered & WITHOUT_GRADIENTS:
                self._met = True
                continue
            if not self._is_free(one.value, function, owner, depth + 1):
                return False
        return bool(made) or node.id in function.parameters or node.id in function.script.imports

    def _is_free_attribute(self, name: str, owner: Class) -> bool:
        """Whether an attribute is a buffer, a number or a frozen parameter."""
        values = self._job.project.attribute_values(owner).get(name, [])
        if name in self._frozen_in(owner):
            return True
        if values:
            return not any(
                isinstance(part, ast.Call) and canonical(part.func, owner.script).startswith(_MADE)
                for value in values
                for part in nodes(value)
            )
        return name in _buffers(owner)

    def _is_free_call(self, call: ast.Call, function: Function, owner: Class, depth: int) -> bool:
        given = arguments(call)
        name, named = last(call.func), call.func
        if isinstance(named, ast.Attribute) and name in _ENDS:
            return True
        if not all(self._is_free(one, function, owner, depth + 1) for one in given):
            return False
        if isinstance(named, ast.Attribute) and dotted(named.value) == "self":
            found = self._job.project.returned(call, function)
            if found:
                return all(self._is_free(value, scope, owner, depth + 1) for value, scope in found)
            self._met |= name in self._frozen_in(owner)
            return name in self._frozen_in(owner)
        full = canonical(named, function.script)
        if full in _PLAIN or full.startswith(_LIBRARY):
            own = full.startswith(("torch.nn.", "torch.utils.")) and not full.startswith("torch.nn.functional.")
            return not own
        return isinstance(named, ast.Attribute) and self._is_free(named.value, function, owner, depth + 1)

    def _frozen_in(self, owner: Class) -> set[str]:
        """Return the attributes of a model of which every parameter is frozen, and none is trained again."""
        if id(owner) not in self._frozen:
            own = {name for name, values in self._job.project.attribute_values(owner).items() for v in values
                   if isinstance(v, ast.Call) and _is_frozen_table(v)}  # fmt: skip
            thawed: set[str] = set()
            for script in self._job.project.scripts:
                for node in script.nodes:
                    for name, value in self._set(node):
                        (thawed if value else own).add(name)
            self._frozen[id(owner)] = own - thawed
        return self._frozen[id(owner)]

    def _set(self, node: ast.AST) -> Iterator[tuple[str, bool]]:
        """Yield which part of a model a statement freezes, or trains again."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute() as of, attr="requires_grad_")):
                yield _part(of), constant(positional(node, 0)) is not False
            case ast.Assign(targets=[ast.Attribute(value=ast.Attribute() as of, attr="requires_grad")]):
                yield _part(of), constant(node.value) is not False
            case ast.For(iter=ast.Call(func=ast.Attribute(value=ast.Attribute() as of, attr="parameters"))):
                yield from ((_part(of), value) for value in _switches(node.body))
            case ast.For(iter=ast.Call(func=ast.Attribute(attr="named_parameters"))):
                for test in (part for part in node.body if isinstance(part, ast.If)):
                    texts = [str(constant(one)) for one in nodes(test.test) if isinstance(constant(one), str)]
                    yield from ((text.strip(".").partition(".")[0], v) for v in _switches(test.body) for text in texts)


def _part(of: ast.Attribute) -> str:
    """Return the part of a model, of which a table's only weight is all: `embed` of `model.embed.weight`."""
    return of.value.attr if of.attr == "weight" and isinstance(of.value, ast.Attribute) else of.attr


def _switches(body: list[ast.stmt]) -> Iterator[bool]:
    for part in (part for statement in body for part in nodes(statement)):
        if isinstance(part, ast.Assign) and last(part.targets[0]) == "requires_grad":
            yield constant(part.value) is not False
        elif isinstance(part, ast.Call) and last(part.func) == "requires_grad_":
            yield constant(positional(part, 0)) is not False


def _is_frozen_table(call: ast.Call) -> bool:
    """`nn.Embedding.from_pretrained(…)` freezes what it gets unless it is told not to."""
    table = isinstance(call.func, ast.Attribute) and call.func.attr == "from_pretrained"
    return table and last(getattr(call.func, "value", call)) == "Embedding" and keyword(call, "freeze") is None


def _buffers(owner: Class) -> set[object]:
    calls = (node for node in nodes(owner.node) if isinstance(node, ast.Call))
    return {constant(call.args[0]) for call in calls if last(call.func) == "register_buffer" and call.args}


def _methods(node: ast.ClassDef) -> set[str]:
    return {one.name for one in node.body if isinstance(one, ast.FunctionDef)}


def _asks_for_gradient(node: ast.AST) -> bool:
    """`x.requires_grad_()`, `requires_grad=True`, `enable_input_require_grads()`."""
    if isinstance(node, ast.keyword):
        return node.arg == "requires_grad" and constant(node.value) is True
    if not isinstance(node, ast.Call):
        return False
    name = last(node.func)
    asked = name == "requires_grad_" and isinstance(getattr(node.func, "value", None), (ast.Name, ast.Call))
    return name == "enable_input_require_grads" or (asked and constant(positional(node, 0)) is not False)
