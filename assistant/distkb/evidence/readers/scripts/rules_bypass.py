"""What goes past a wrapper's hooks or undoes them: methods and copies of a sharded model, checkpoints, Join."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.collectives import TOGETHER
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.gradless import Gradless
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, walk, words
from distkb.evidence.readers.scripts.nodes import nodes

_METHOD, _COPY = "script.method-past-sharding", "script.copy-of-sharded"
_REENTRANT, _JOIN = "script.reentrant-with-unused", "script.collective-in-join"
_SHARDED = frozenset({kinds.FSDP1, kinds.FSDP2})
_LAYERS = ("torch.nn.", "transformers.")


def method_past(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield calls of a method that runs layers, on a model whose forward alone gathers them."""
    if job.mentions("register_fsdp_forward_method", "summon_full_params", "unshard"):
        return
    for function, call in job.calls():
        named = call.func
        if not isinstance(named, ast.Attribute) or named.attr == "forward":
            continue
        owner = _inner(named.value)
        if not kinds.is_sharded(owner, function, job.project, call.lineno):
            continue
        layers = _runs_layers(owner, named.attr, function, job)
        layer = next((layer for layer in layers if not _is_unit(layer, job)), "")
        if layer:
            yield hit(_METHOD, function, call, call=shown(named), model=shown(owner), layer=layer)


def _is_unit(layer: str, job: ScriptContext) -> bool:
    """Whether a layer is, or may be, sharded as a unit of its own, whose hooks gather it wherever it is called."""
    for function, site in job.sites():
        call = site.node
        if kinds.kind_of(call, function, job.project) not in _SHARDED or not call.args:
            continue
        by_policy = any(word.arg is None or "policy" in word.arg for word in call.keywords)
        name = layer.rpartition(".")[2]
        if by_policy or last(call.args[0]) == name or any(_goes_through(loop, name) for loop in site.where.loops):
            return True
    return False


def _goes_through(loop: ast.AST, name: str) -> bool:
    """Whether a loop that shards modules may come to a layer: it goes through it, or through all modules."""
    if not isinstance(loop, (ast.For, ast.AsyncFor)):
        return True
    called = {last(part.func) for part in nodes(loop.iter) if isinstance(part, ast.Call)}
    plain = isinstance(loop.iter, (ast.Attribute, ast.Call)) and called <= _KEEP_ORDER
    return not plain or name in words(loop.iter)


_KEEP_ORDER = frozenset({"enumerate", "reversed", "list", "tuple"})
"""Calls that go through what they are given."""


def _inner(node: ast.expr) -> ast.expr:
    """`model` of `model.module`, which FSDP's wrapper class has."""
    return node.value if isinstance(node, ast.Attribute) and node.attr == "module" else node


def _runs_layers(owner: ast.expr, name: str, function: Function, job: ScriptContext) -> list[str]:
    """Return the layers that the model's method runs by itself; nothing where it does not, or calls forward."""
    cls = kinds.model_class(owner, function, job.project)
    method = None if cls is None else job.project.method(cls, name)
    init = None if cls is None else job.project.method(cls, "__init__")
    if cls is None or method is None or init is None or name.startswith("__"):
        return []
    layers = {a.target for a in job.project.walk(init).assignments if _is_layer(a.value, init, job)}
    called = [dotted(site.node.func) for site in job.project.walk(method).sites]
    if {"self", "self.forward", "self.__call__"} & set(called):
        return []
    return [name for name in called if name in layers]


def _is_layer(value: ast.expr, init: Function, job: ScriptContext) -> bool:
    if not isinstance(value, ast.Call):
        return False
    full = canonical(value.func, init.script)
    return full.startswith(_LAYERS) or job.project.class_named(value.func, init.script) is not None


def copied(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield deep copies of a model that is sharded already."""
    for function, call in job.calls():
        copies = canonical(call.func, function.script) == "copy.deepcopy" and bool(call.args)
        if copies and _is_of_sharded(call.args[0], function, call.lineno, job):
            yield hit(_COPY, function, call, model=shown(call.args[0]))


def _is_of_sharded(node: ast.expr, function: Function, line: int, job: ScriptContext) -> bool:
    """Whether an expression is a sharded model, or a part of one."""
    while not kinds.is_sharded(node, function, job.project, line):
        if not isinstance(node, ast.Attribute) or not dotted(node):
            return False
        node = node.value
    return True


def reentrant(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield reentrant checkpoints in, or of, a model whose DDP looks for unused parameters."""
    models: set[int] = set()
    for function, site in job.sites():
        if _looks_for_unused(site.node) and site.node.args:
            found = kinds.model_class(site.node.args[0], function, job.project)
            models |= set() if found is None else {id(found)}
    told = _is_told_of_unused(job)
    gradless = Gradless(job)
    for function, call in job.calls() if models or told else ():
        full = canonical(call.func, function.script)
        if told and _enables_reentrant(call, function, job):
            yield hit(_REENTRANT, function, call, call=shown(call.func))
            return
        if not full.startswith("torch.utils.checkpoint") or constant(keyword(call, "use_reentrant")) is not True:
            continue
        if gradless.is_blind(call, function):
            continue
        of = kinds.model_class(call.args[0], function, job.project) if call.args else None
        if told or {id(function.owner), id(of)} & models:
            yield hit(_REENTRANT, function, call, call=shown(call.func))
            return


def _looks_for_unused(call: ast.Call) -> bool:
    told = (
        constant(keyword(call, "find_unused_parameters")) is True
        and constant(keyword(call, "static_graph")) is not True
    )
    return told and last(call.func) in {"DistributedDataParallel", "DDP"}


def _is_told_of_unused(job: ScriptContext) -> bool:
    """Whether a framework is told to wrap the model in a DDP that looks for unused parameters."""
    if job.mentions("ddp_find_unused_parameters_true"):
        return True
    for _, site in job.sites():
        name, call = last(site.node.func), site.node
        if name in {"DistributedDataParallelKwargs", "DDPStrategy"}:
            static = constant(keyword(call, "static_graph")) is True
            if constant(keyword(call, "find_unused_parameters")) is True and not static:
                return True
        elif name.endswith("Arguments") and constant(keyword(call, "ddp_find_unused_parameters")) is True:
            return True
    return False


def _enables_reentrant(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether a call switches the checkpoints of a model of Transformers on, in their reentrant form."""
    told = keyword(call, "gradient_checkpointing_kwargs")
    known = told if told is None else job.project.single(told, function) or told
    pairs = zip(known.keys, known.values, strict=True) if isinstance(known, ast.Dict) else ()
    return any(constant(key) == "use_reentrant" and constant(value) is True for key, value in pairs)


def in_join(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield collectives of the script's own inside of `with Join(…)`, which ranks without data do not make."""
    for function in job.project.functions:
        for block in walk(function.node):
            if not isinstance(block, ast.With) or not any(
                _is_join(item.context_expr, function) for item in block.items
            ):
                continue
            calls = [n for s in block.body for n in nodes(s) if isinstance(n, ast.Call)]
            for call in calls:
                need = next((n for n in job.effects.of_call(call, function) if n.category in TOGETHER), None)
                if need is not None:
                    yield hit(_JOIN, function, call, call=shown(call.func), needs=need.name)
                    break


def _is_join(node: ast.expr, function: Function) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return (
        canonical(node.func, function.script).startswith("torch.distributed.algorithms.") or last(node.func) == "join"
    )


RULES = (
    ScriptRule(ids=(_METHOD,), check=method_past),
    ScriptRule(ids=(_COPY,), check=copied),
    ScriptRule(ids=(_REENTRANT,), check=reentrant),
    ScriptRule(ids=(_JOIN,), check=in_join),
)
