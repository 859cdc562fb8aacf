"""Models that are built without memory, on the meta device, and then sharded."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import argument, arguments
from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, walk, words
from distkb.evidence.readers.scripts.nodes import nodes, targets_of

_EMPTY, _RAW = "script.meta-without-memory", "script.meta-not-initialised"
_LOST = "script.meta-buffer-lost"
_FILLS = re.compile(
    r"(?i)^_?(?:(?:re)?init(?:iali[sz]e)?(?:_?(?:weights?|params?|parameters|buffers?|model|module|states?|layers?))?"
    r"|(?:post|re|self)_init\w*|reset_parameters|load|load_\w+|restore\w*|set_\w*state_dict|from_pretrained|\w+_"
    r"|copy|apply|materiali[sz]e\w*|set_module_tensor_to_device|empty_like|zeros_like|distribute_tensor)$"
)
"""Calls that may give parameters values."""
_OF_TORCH = frozenset({"requires_grad_", "zero_", "detach_", "clip_grad_norm_", "clip_grad_value_", "share_memory_",
                       "load_dataset", "load_from_disk", "add_", "mul_", "lerp_"})  # fmt: skip
_GIVES = ("to_empty", "param_init_fn", "assign", "materialize", "init_on_device", "set_module_tensor_to_device",
          "empty_like", "set_model_state_dict", "from_pretrained", "dispatch_model")  # fmt: skip


def on_meta(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield models built on the meta device and sharded by `fully_shard` that nothing gives memory, or no values."""
    if not job.mentions("fully_shard") or not job.mentions("backward"):
        return
    for function in job.project.functions:
        for node in walk(function.node):
            if not isinstance(node, ast.With):
                continue
            block = next((item.context_expr for item in node.items if _is_meta(item.context_expr)), None)
            if block is None:
                continue
            if not job.mentions(*_GIVES):
                yield hit(_EMPTY, function, node, block=shown(block))
            elif job.mentions("to_empty") and not _is_filled(job):
                yield hit(_RAW, function, node, block=shown(block))
            return


def _is_meta(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    is_device = last(node.func) == "device" and any(constant(given) == "meta" for given in node.args)
    return is_device or last(node.func) == "init_empty_weights"


def _is_filled(job: ScriptContext) -> bool:
    """Whether any call of the project may give the parameters values."""
    if job.mentions("param_init_fn"):
        return True
    for function, call in job.calls():
        name = last(call.func)
        full = canonical(call.func, function.script)
        if (
            _FILLS.match(name)
            and name not in _OF_TORCH
            and not full.startswith(("json.", "yaml.", "dist.", "datasets."))
        ):
            return True
    return False


_OF_ALL = ("buffers", "named_buffers", "_buffers", "_non_persistent_buffers_set", "__dict__")
"""Names of ways to all buffers of a model at once, by which they may get their values."""
_MOST = 200
"""Classes and functions that are looked into for what a block builds."""


def buffers_lost(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield buffers that a constructor computes on the meta device, no checkpoint holds and nobody computes again."""
    if not job.is_parallel or not job.mentions("to_empty") or job.mentions(*_OF_ALL) or not _is_filled(job):
        return
    told: set[int] = set()
    for function in job.project.functions:
        for node in walk(function.node):
            if not isinstance(node, ast.With) or not any(_is_meta(item.context_expr) for item in node.items):
                continue
            block = next(item.context_expr for item in node.items if _is_meta(item.context_expr))
            for cls in _built(node, function, job):
                for made, name in _unsaved(cls, job) if id(cls) not in told else ():
                    if not _is_set_again(name, cls, job):
                        told.add(id(cls))
                        place = {"block": shown(block), "block_line": str(node.lineno)}
                        yield hit(_LOST, cls.methods["__init__"], made, name=name, builder=function.name, **place)
                        break


def _built(block: ast.With, function: Function, job: ScriptContext) -> list[Class]:
    """Return the classes of which a block makes objects, in the functions and constructors too that it calls."""
    found: dict[int, Class] = {}
    todo: list[tuple[ast.AST, Function]] = [(block, function)]
    done = {id(function)}
    for node, scope in todo:
        if len(todo) > _MOST:
            break
        for part in nodes(node):
            cls = job.project.class_named(part, scope.script) if isinstance(part, (ast.Name, ast.Attribute)) else None
            if cls is not None and id(cls) not in found:
                found[id(cls)] = cls
                todo += [(cls.methods[name].node, cls.methods[name]) for name in ("__init__",) if name in cls.methods]
                todo += [(base, scope) for base in cls.node.bases]
            target = job.project.target(part, scope) if isinstance(part, ast.Call) else None
            if target is not None and id(target) not in done:
                done.add(id(target))
                todo.append((target.node, target))
    return list(found.values())


def _unsaved(cls: Class, job: ScriptContext) -> Iterator[tuple[ast.expr, str]]:
    """Yield what a constructor puts into buffers that are in no state dict."""
    init = cls.methods.get("__init__")
    for site in job.project.walk(init).sites if init is not None else ():
        call = site.node
        if dotted(call.func) != "self.register_buffer" or len(call.args) < 1:
            continue
        saved = argument(call, "persistent", 2)
        value = argument(call, "tensor", 1)
        name = constant(call.args[0])
        if constant(saved) is False and isinstance(name, str) and value is not None and constant(value) is not None:
            yield call, name


def _is_set_again(name: str, cls: Class, job: ScriptContext) -> bool:
    """Whether anything that may run after the constructor gives an attribute its values."""
    for function in job.project.functions:
        if not any(_sets(node, name) for node in nodes(function.node)) or isinstance(function.node, ast.Module):
            continue
        method = function.name.rpartition(".")[2]
        if function.owner is not cls and method != "__init__":
            return True
        if method != "__init__" and _is_called_later(method, cls, job):
            return True
    return any(_sets(node, name) for top in job.project.modules.values() for node in walk(top.node))


def _is_called_later(method: str, cls: Class, job: ScriptContext) -> bool:
    """Whether a method runs by itself, or is named anywhere but in the constructor of its class."""
    if method in {"forward", "__call__", "__getattr__"}:
        return True
    init = cls.methods["__init__"]
    own = {id(node) for node in nodes(init.node)}
    named = (node for script in job.project.scripts for node in script.nodes if id(node) not in own)
    return any(
        (isinstance(node, (ast.Name, ast.Attribute)) and last(node) == method)
        or (isinstance(node, ast.Constant) and node.value == method)
        for node in named
    )


def _sets(node: ast.AST, name: str) -> bool:
    """Whether a node gives an attribute of a name something, or writes into it."""
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        targets = targets_of(node)
        return any(isinstance(part, ast.Attribute) and part.attr == name for one in targets for part in nodes(one))
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_") and name in words(node.func.value):
        return True
    given = arguments(node)
    return last(node.func) in {"register_buffer", "setattr"} and any(constant(one) == name for one in given)


RULES = (ScriptRule(ids=(_EMPTY, _RAW), check=on_meta), ScriptRule(ids=(_LOST,), check=buffers_lost))
