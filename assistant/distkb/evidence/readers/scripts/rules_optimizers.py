"""FSDP: optimizers and lists that hold the parameters from before the sharding."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import argument
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Assignment, Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, shown
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.things import Event, Thing

_EARLY, _LIST = "script.optimizer-before-sharding", "script.parameters-listed-before-sharding"
_KEPT = "script.parameters-kept-before-sharding"
_LISTS = frozenset({"list", "tuple", "dict", "sorted", "set"})
"""Calls that go through an iterator at once."""


def optimizer_first(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield optimizers made from parameters of a model that is sharded afterwards, and of which no other is made."""
    told: set[int] = set()
    for events in job.episodes:
        made: list[Event] = []
        for index, event in enumerate(events):
            if event.kind == "optimizer":
                made = [old for old in made if not _covers(event.things[1:], old)] + [event]
            for old in made if event.kind == "shard" else ():
                if id(old.node) in told or not isinstance(old.node, ast.Call) or not _covers(_inside(event), old):
                    continue
                if not any(e.kind == "optimizer" and _covers(e.things[1:], old) for e in events[index + 1 :]):
                    told.add(id(old.node))
                    values = {"optimizer": shown(old.node.func), "wrap_line": str(event.node.lineno)}
                    yield hit(_EARLY, old.function, old.node, model=_model(event), **values)


def _inside(event: Event) -> list[Thing]:
    return [model for thing in event.things for model in thing.models()]


def _covers(others: Iterable[Thing], optimizer: Event) -> bool:
    """Whether things, or what they are the whole of, are what an optimizer was made for."""
    held = {id(whole) for thing in optimizer.things[1:] for whole in thing.wholes()}
    return not held.isdisjoint(id(one) for one in others)


def _model(event: Event) -> str:
    call = event.node
    return shown(call.args[0]) if isinstance(call, ast.Call) and call.args else "model"


def listed_first(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield lists of a model's parameters, written down before it is sharded, that are used after it."""
    if not job.project.declared.has_sharded:
        return
    for function in job.project.functions:
        walk = job.project.walk(function)
        for made in walk.assignments:
            model = next(_listed(made.value), None) if made.index is None else None
            if model is None or kinds.kind_of(model, function, job.project, made.line) in {kinds.FSDP1, kinds.FSDP2}:
                continue
            use = next((one for one in walk.sites if _uses(one, made, function, job)), None)
            if use is None or not _is_replaced(model, function, use.node.lineno, job):
                continue
            values = {"list": made.target, "model": shown(model), "use": shown(use.node.func)}
            yield hit(_LIST, function, made.value, use_line=str(use.node.lineno), **values)


def kept_first(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield objects that keep the parameters of a model from before it is sharded, and are used after it."""
    for function in job.project.functions if job.project.declared.has_sharded else ():
        walk = job.project.walk(function)
        for made in walk.assignments:
            call = made.value
            if made.index is not None or not isinstance(call, ast.Call) or not made.target:
                continue
            model = _kept(call, function, job)
            if model is None or kinds.kind_of(model, function, job.project, made.line) in {kinds.FSDP1, kinds.FSDP2}:
                continue
            use = next((s.node for s in walk.sites if s.node.lineno > made.line and _of(s.node) == made.target), None)
            if use is None or not _is_replaced(model, function, use.lineno, job):
                continue
            values = {"object": made.target, "model": shown(model), "use": shown(use.func)}
            yield hit(_KEPT, function, call, use_line=str(use.lineno), **values)


def _of(call: ast.Call) -> str:
    """Return the object of which a method is called."""
    return dotted(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def _kept(call: ast.Call, function: Function, job: ScriptContext) -> ast.expr | None:
    """Return the model given to a class of the project whose constructor lists its parameters in an attribute."""
    cls = job.project.class_named(call.func, function.script)
    init = job.project.method(cls, "__init__") if cls is not None else None
    if init is None:
        return None
    for made in job.project.walk(init).assignments:
        names = map(dotted, _listed(made.value)) if made.target.startswith("self.") else ()
        name = next((name for name in names if name in init.parameters), None)
        if name is not None:
            at = init.parameters.index(name) - 1
            given = argument(call, name, at)
            return given if given is not None and dotted(given) else None
    return None


def _listed(value: ast.expr) -> Iterator[ast.expr]:
    """Yield the models whose parameters a list is made of at once; a generator would go through them later."""
    at_once = isinstance(value, (ast.ListComp, ast.DictComp, ast.SetComp))
    at_once |= isinstance(value, ast.Call) and dotted(value.func) in _LISTS
    for part in nodes(value) if at_once else ():
        named = part.func if isinstance(part, ast.Call) else None
        if (
            isinstance(named, ast.Attribute)
            and named.attr in {"parameters", "named_parameters"}
            and dotted(named.value)
        ):
            yield named.value


def _uses(site: Site, made: Assignment, function: Function, job: ScriptContext) -> bool:
    """Whether a call below gives the list to an optimizer or to the clipping of gradients."""
    call = site.node
    full = canonical(call.func, function.script)
    trains = full.startswith("torch.optim.") or full.endswith((".clip_grad_norm_", ".clip_grad_value_"))
    if call.lineno <= made.line or not trains or not call.args:
        return False
    given = {dotted(part) for part in nodes(call.args[0])}
    latest = job.project.walk(function).assigned(made.target, before=call.lineno)
    return made.target in given and bool(latest) and latest[-1].line == made.line


def _is_replaced(model: ast.expr, function: Function, line: int, job: ScriptContext) -> bool:
    """Whether a model is sharded at a line, and its parameters are others by that."""
    kind = kinds.kind_of(model, function, job.project, line)
    return kind == kinds.FSDP2 or (kind == kinds.FSDP1 and not _keeps_objects(job))


def _keeps_objects(job: ScriptContext) -> bool:
    """Whether FSDP1 is told to leave the parameters themselves in the model, or that is open."""
    told = [node for script in job.project.scripts for node in script.nodes if _names_objects(node)]
    return any(not isinstance(node, ast.keyword) or constant(node.value) is not False for node in told)


def _names_objects(node: ast.AST) -> bool:
    """`use_orig_params=…`, or the name as a key of settings."""
    if isinstance(node, ast.keyword):
        return node.arg == "use_orig_params"
    return constant(node) == "use_orig_params"


RULES = (
    ScriptRule(ids=(_EARLY,), check=optimizer_first, follows=True),
    ScriptRule(ids=(_LIST,), check=listed_first),
    ScriptRule(ids=(_KEPT,), check=kept_first),
)
