"""Loaders that a subclass of Transformers' Trainer makes itself and that nothing divides over the ranks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import arguments, has_spread
from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, last, shown, words

_UNDIVIDED = "script.train-loader-not-prepared"
_LOADERS = frozenset({"DataLoader", "StatefulDataLoader", "MultiEpochsDataLoader"})
_DIVIDES = re.compile(
    r"(?i)rank|world|accelerator|num_processes|process_index|replica|distributed|shard|by_node|prepare"
)
"""Names that show that a script divides the data itself, or has it divided."""
_ROOTS = frozenset({"transformers", "trl", "setfit", "sentence_transformers"})
_DEPTH = 4


def undivided(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield loaders that `get_train_dataloader` of a subclass of the Trainer gives back as they were made."""
    told: set[int] = set()
    for function in job.project.functions:
        if not function.name.endswith(".get_train_dataloader") or not _is_of_trainer(function.owner, job):
            continue
        for value, _ in job.project.walk(function).returns:
            for call, scope in _made(value, function, job, 0):
                if id(call) not in told and not _is_divided(call, scope, job):
                    told.add(id(call))
                    yield hit(_UNDIVIDED, scope, call, loader=f"{shown(call.func)}(…)")


def _is_of_trainer(owner: Class | None, job: ScriptContext, depth: int = 0) -> bool:
    """Whether a class is derived from a Trainer of Transformers, also through classes of the project."""
    for base in owner.node.bases if owner is not None and depth < _DEPTH else ():
        full = canonical(base, owner.script) if owner is not None else ""
        if full.endswith("Trainer") and full.partition(".")[0] in _ROOTS:
            return True
        above = job.project.class_named(base, owner.script) if owner is not None else None
        if above is not None and _is_of_trainer(above, job, depth + 1):
            return True
    return False


def _made(node: ast.expr, function: Function, job: ScriptContext, depth: int) -> Iterator[tuple[ast.Call, Function]]:
    """Yield the calls that make a loader which is given back as it is: behind names, choices and helpers."""
    if depth > _DEPTH:
        return
    if isinstance(node, ast.IfExp):
        for part in (node.body, node.orelse):
            yield from _made(part, function, job, depth + 1)
    elif isinstance(node, ast.Name):
        value = job.project.walk(function).last_value(node.id, before=node.lineno)
        yield from _made(value, function, job, depth + 1) if value is not None else ()
    elif isinstance(node, ast.Call):
        if last(node.func) in _LOADERS and job.project.target(node, function) is None:
            yield node, function
        for value, scope in job.project.returned(node, function):
            yield from _made(value, scope, job, depth + 1)


def _is_divided(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether anything around a loader, or in the classes and functions that it is made with, speaks of the ranks."""
    said = words(function.node)
    for site in job.project.walk(function).sites:
        made = job.project.class_named(site.node.func, function.script)
        target = job.project.target(site.node, function)
        said |= words(made.node) if made is not None else words(target.node) if target is not None else set()
    held = [job.project.holds_class(value, function) for value in arguments(call)]
    said |= {word for cls in held if cls is not None for word in words(cls.node)}
    return has_spread(call) or any(_DIVIDES.search(word) for word in said)


RULES = (ScriptRule(ids=(_UNDIVIDED,), check=undivided),)
