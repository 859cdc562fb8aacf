"""What a variable holds: a wrapped model, an engine, an Accelerator, a trainer, a loader, a sampler, an optimizer."""

from __future__ import annotations

import ast

from distkb.evidence.readers.scripts.definitions import Class, Function, around
from distkb.evidence.readers.scripts.flow import LOOPED, NO_LINE, Assignment
from distkb.evidence.readers.scripts.made import SAME, makers
from distkb.evidence.readers.scripts.names import canonical, dotted, last
from distkb.evidence.readers.scripts.project import Project
from distkb.evidence.readers.scripts.ranks import assumed

DDP, FSDP1, FSDP2, ENGINE = "ddp", "fsdp1", "fsdp2", "engine"
ACCELERATOR, HF_TRAINER, PL_TRAINER, FABRIC = "accelerator", "hf-trainer", "pl-trainer", "fabric"
SAMPLER, LOADER, OPTIMIZER, PREPARED = "sampler", "loader", "optimizer", "prepared"
SHARDED = frozenset({FSDP1, ENGINE})
UNSURE = "?"
"""The name may hold several things, or only under a test whose outcome is not known."""

_WRAPPERS = {
    "DistributedDataParallel": DDP,
    "FullyShardedDataParallel": FSDP1,
    "Accelerator": ACCELERATOR,
    "Fabric": FABRIC,
    "DistributedSampler": SAMPLER,
    "DataLoader": LOADER,
}
COMPILERS = frozenset({"torch.compile", "thunder.jit"})
"""Functions that give back the model that they compile, wrapped or not."""
_DEPTH = 10
_HELPERS = 2
"""Functions in one another in which a model may be sharded in place."""
_MOST_RETURNS = 12
"""Values that a function returns of which the kind is asked."""


def kind_of(node: ast.AST | None, function: Function, project: Project, line: int = NO_LINE, depth: int = 0) -> str:
    """Return what an expression holds at a line of a function; `?` where that is open, an empty string if unknown."""
    if isinstance(node, ast.Call) and depth <= _DEPTH:
        return _of_call(node, function, project, line, depth)
    if isinstance(node, ast.IfExp) and depth <= _DEPTH:
        return _one({kind_of(arm, function, project, line, depth + 1) for arm in arms(node)})
    name = dotted(node) if node is not None and depth <= _DEPTH else ""
    if not name:
        return ""
    if "." not in name:
        return _of_name(name, function, project, line, depth)
    if name.startswith("self.") and name.count(".") == 1:
        return _of_attribute(name, function, project, depth)
    owner = project.holds_class(node.value, function) if isinstance(node, ast.Attribute) else None
    return "" if owner is None else _attribute_of(owner, f"self.{name.rpartition('.')[2]}", project, depth)


def arms(node: ast.expr) -> tuple[ast.expr, ...]:
    """Return what a conditional expression may give in a run of several ranks; anything else gives itself.

    `DDP(net) if world > 1 else net` wraps the model in such a run, whatever the test is called.
    """
    if not isinstance(node, ast.IfExp):
        return (node,)
    settled = assumed(node.test)
    for one, other in ((node.body, node.orelse), (node.orelse, node.body)):
        wraps = isinstance(one, ast.Call) and bool(one.args) and dotted(one.args[0]) == dotted(other) != ""
        if wraps or (settled is not None and one is (node.body if settled else node.orelse)):
            return (one,)
    return (node.body, node.orelse)


def is_sharded(node: ast.AST, function: Function, project: Project, line: int = NO_LINE) -> bool:
    """Whether an expression is a model of which each rank holds a part, also by a plugin of Accelerate's."""
    kind = kind_of(node, function, project, line)
    return kind in {FSDP1, FSDP2} or (kind == PREPARED and project.declared.has_sharding_plugin)


def _of_call(call: ast.Call, function: Function, project: Project, line: int, depth: int) -> str:
    full = canonical(call.func, function.script)
    if full in COMPILERS and call.args:
        return kind_of(call.args[0], function, project, line, depth + 1)
    if isinstance(call.func, ast.Attribute) and call.func.attr in SAME:
        return kind_of(call.func.value, function, project, line, depth + 1)
    return _of_class(full) or _returned(call, None, function, project, depth)


def _returned(call: ast.Call, index: int | None, function: Function, project: Project, depth: int) -> str:
    """Return what a function of the project gives back, or what is at a place of the tuple that it gives back."""
    found = project.returned(call, function, index) if depth <= _DEPTH else []
    if not found:
        return ""
    return _one({kind_of(value, scope, project, depth=depth + 2) for value, scope in found[:_MOST_RETURNS]})


def _one(kinds: set[str]) -> str:
    """Return the kind that all agree on; doubt where they do not."""
    return next(iter(kinds)) if len(kinds) == 1 else (UNSURE if kinds else "")


def _of_class(full: str) -> str:
    """Return what a call of this dotted name gives."""
    root, final = full.partition(".")[0], full.rpartition(".")[2]
    kind = _WRAPPERS.get(final, "")
    if kind and ("." in full or kind in {DDP, SAMPLER}):
        return kind
    if final.endswith("Trainer") and root in {"transformers", "trl"}:
        return HF_TRAINER
    if final == "Trainer" and root in {"lightning", "pytorch_lightning"}:
        return PL_TRAINER
    if full.startswith("torch.optim.") and "lr_scheduler" not in full:
        return OPTIMIZER
    return FSDP2 if final == "fully_shard" and "." in full else ""


def _of_assignment(found: Assignment, function: Function, project: Project, depth: int) -> str:
    value = found.value
    if isinstance(value, ast.Call) and found.index != LOOPED and last(value.func) in {"prepare", "prepare_model"}:
        return PREPARED
    if found.index is not None:
        is_engine = isinstance(value, ast.Call) and canonical(value.func, function.script) == "deepspeed.initialize"
        if is_engine:
            return ENGINE if found.index == 0 else ""
        return _returned(value, found.index, function, project, depth) if isinstance(value, ast.Call) else ""
    return kind_of(value, function, project, found.line, depth + 1)


def _decided(found: list[Assignment], function: Function, project: Project, depth: int) -> str:
    """Return what the last of several assignments leaves; doubt where a wrapping depends on an open test."""
    later: set[str] = set()
    for assignment in reversed(found):
        kind = _of_assignment(assignment, function, project, depth)
        if assignment.where.certain:
            return kind if later <= {kind} else UNSURE
        later.add(kind)
    return "" if later <= {""} else UNSURE


def _of_name(name: str, function: Function, project: Project, line: int, depth: int) -> str:
    scope: Function | None = function
    while scope is not None:
        limit = line if scope is function else NO_LINE
        sharded = _sharded_in_place(name, scope, project, limit)
        if sharded:
            return sharded
        found = project.walk(scope).assigned(name, before=limit)
        if found:
            return _decided(found, scope, project, depth)
        if name in scope.parameters:
            return _of_parameter(name, scope, project, depth)
        scope = scope.parent
    return ""


def _sharded_in_place(name: str, scope: Function, project: Project, line: int, depth: int = 0) -> str:
    """Return whether `fully_shard(name)` has been called above a line, here or in a function that was given it."""
    for site in project.first_arguments(scope, "fully_shard").get(name, ()):
        if site.node.lineno < line and "." in canonical(site.node.func, scope.script):
            return FSDP2 if site.where.certain else UNSURE
    for site, place in project.handed_on(scope).get(name, ()) if depth < _HELPERS else ():
        target = project.target(site.node, scope)
        names = target.parameters[1:] if target is not None and target.is_method else getattr(target, "parameters", [])
        given = place if isinstance(place, str) else names[place] if place < len(names) else ""
        if site.node.lineno < line and target is not None and given in names:
            found = _sharded_in_place(given, target, project, NO_LINE, depth + 1)
            if found:
                return found if site.where.certain else UNSURE
    return ""


def _of_parameter(name: str, function: Function, project: Project, depth: int) -> str:
    """Return what all callers give for a parameter, where they agree."""
    if depth > _DEPTH // 2:
        return ""
    given = project.given(name, function)
    kinds = {kind_of(value, caller, project, value.lineno, depth + 2) for value, caller in given}
    return _one(kinds)


def _of_attribute(name: str, function: Function, project: Project, depth: int) -> str:
    cls = function.owner or (function.parent.owner if function.parent else None)
    return "" if cls is None else _attribute_of(cls, name, project, depth)


def _attribute_of(cls: Class, name: str, project: Project, depth: int) -> str:
    key = (id(cls), name)
    if key not in project.attribute_kinds:
        project.attribute_kinds[key] = ""  # an attribute that is made of itself ends here
        project.attribute_kinds[key] = _attribute_kind(name, cls, project, depth)
    return project.attribute_kinds[key]


def _attribute_kind(name: str, cls: Class, project: Project, depth: int) -> str:
    kinds: set[str] = set()
    for method in cls.methods.values():
        for found in project.walk(method).assigned(name):
            if found.target == name:
                kind = _of_assignment(found, method, project, depth + 1)
                kinds.add(kind if found.where.certain or not kind else UNSURE)
        sharded = _sharded_in_place(name, method, project, NO_LINE)
        if sharded:
            return sharded
    return _one(kinds - {""})


def _prepared(made: Assignment) -> ast.expr:
    """What an assignment gives a name: of several things that Accelerate prepares at once the one at its place."""
    value = made.value
    if isinstance(value, ast.Call) and last(value.func) == "prepare" and isinstance(made.index, int):
        return value.args[made.index] if 0 <= made.index < len(value.args) else value
    return value


def model_class(node: ast.expr, function: Function, project: Project, depth: int = 0) -> Class | None:
    """Return the project's class of a model, also below the wrapper that it was given to."""
    name = dotted(node)
    found = project.holds_class(node, function)
    if found is not None or not name:
        return found
    assigned = project.walk(function).assigned(name)
    if not assigned and name in function.parameters:
        callers = project.given(name, function) if depth < _HELPERS else ()
        known = [model_class(value, caller, project, depth + 1) for value, caller in callers]
        return known[0] if known and all(one is known[0] for one in known) else None
    values = [(_prepared(made), function) for made in assigned]
    if name.startswith("self.") and name.count(".") == 1 and function.owner is not None:
        given = project.attribute_values(function.owner).get(name[5:], [])
        values += [(value, around(value, function.owner, function)) for value in given]
    classes: dict[int, Class] = {}
    for value, scope in values:
        inner: ast.expr | None = value
        for _ in range(4):
            if isinstance(inner, ast.Call) and project.holds_class(inner, scope) is None:
                own = isinstance(inner.func, ast.Attribute) and inner.func.attr in SAME
                inner = inner.args[0] if inner.args and not own else getattr(inner.func, "value", None)
        cls = None if inner is None else project.holds_class(inner, scope)
        if cls is None and isinstance(inner, ast.Name) and scope is not function and depth < _HELPERS:
            cls = model_class(inner, scope, project, depth + 1)
        if cls is not None:
            classes[id(cls)] = cls
    for made in makers(node, function, project) if not classes else ():
        cls = project.class_named(made.call.func, made.function.script)
        if cls is not None:
            classes[id(cls)] = cls
    return next(iter(classes.values())) if len(classes) == 1 else None
