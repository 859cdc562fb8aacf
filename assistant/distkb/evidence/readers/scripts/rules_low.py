"""Models that are in low precision when they are sharded, so that the optimizer updates low-precision weights."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.graphs import is_model
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import Meaning
from distkb.evidence.readers.scripts.names import dotted, last, shown
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.number_types import LOW, default_at, types_of

_LOW = "script.low-precision-before-sharding"
_SHARDED = frozenset({kinds.FSDP1, kinds.FSDP2})
_KEEPS = ("LoraConfig", "get_peft_model", "peft", "torchao", "AnyPrecisionAdamW", "master_weights", "bitsandbytes")
_DEPTH = 4


def low_precision(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield models that are sharded and trained in low precision, so that no full-precision weights are kept."""
    if job.mentions(*_KEEPS) or not job.mentions("backward") or not job.mentions("optim", "AdamW", "Adam", "SGD"):
        return
    told: set[int] = set()
    for function in job.project.functions:
        for site in job.project.walk(function).sites:
            call = site.node
            if not call.args or kinds.kind_of(call, function, job.project) not in _SHARDED:
                continue
            found = _low_of(call.args[0], call.lineno, function, job, 0)
            if found is not None:
                cast, scope = found
                model = dotted(call.args[0]) or shown(call.args[0])
                if id(cast) not in told:
                    yield hit(_LOW, scope, cast, cast=shown(cast), model=model, wrap_line=str(call.lineno))
                told.add(id(cast))
                break


def _low_of(node: ast.expr, before: int, function: Function, job: ScriptContext, depth: int) -> Meaning | None:
    """Return what makes a model low in precision, and the function in which it stands; None where it may be full."""
    if depth > _DEPTH:
        return None
    if isinstance(node, ast.Call):
        return _low_of_call(node, function, job, depth)
    name = dotted(node)
    if not name or (name.count(".") and not name.startswith("self.")):
        return None
    found = _casts(name, before, function, job, depth)
    if found is not None:
        return found
    if name in function.parameters and not job.project.walk(function).assigned(name):
        return _agreed(job.project.given(name, function), job, depth)
    return None


def _casts(name: str, before: int, function: Function, job: ScriptContext, depth: int) -> Meaning | None:
    """Return the call that last made a model of low precision above a line."""
    casts: list[tuple[int, Meaning | None]] = []
    walked = job.project.walk(function)
    for made in walked.assigned(name, before=before):
        if dotted(made.value) or made.index is not None:
            return None
        call = next((node for node in nodes(made.value) if isinstance(node, ast.Call)), None)
        if call is not None:
            casts.append((call.lineno, _low_of_call(call, function, job, depth)))
    for site in walked.sites:
        func = site.node.func
        if isinstance(func, ast.Attribute) and dotted(func.value) == name and site.node.lineno < before:
            if _raises(site.node, function, job):
                casts.append((site.node.lineno, None))
            elif _is_low(site.node, function, job):
                casts.append((site.node.lineno, (site.node, function)))
    last_made = sorted(casts, key=lambda one: one[0])[-1:]
    return last_made[0][1] if last_made else None


def _low_of_call(call: ast.Call, function: Function, job: ScriptContext, depth: int) -> Meaning | None:
    """Return what makes low in precision what a call gives: the call, the default type, or the helper that it runs."""
    if _raises(call, function, job):
        return None
    if _is_low(call, function, job):
        return call, function
    inner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(inner, ast.Call):
        return _low_of_call(inner, function, job, depth)
    if _builds(call, function, job):
        found = default_at(call, function, job)
        return (found[0], function) if found is not None and found[1] and found[1] <= LOW else None
    return _agreed(job.project.returned(call, function), job, depth)


def _agreed(values: Iterable[Meaning], job: ScriptContext, depth: int) -> Meaning | None:
    """Return the first of what makes values low in precision, where all of them are."""
    found = [_low_of(value, value.lineno, scope, job, depth + 1) for value, scope in values]
    return found[0] if found and all(one is not None for one in found) else None


def _builds(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether a call makes the weights of a model, which get the type that is the default at that moment."""
    if last(call.func) == "from_config":
        return True
    made = job.project.class_named(call.func, function.script)
    return made is not None and is_model(made)


def _types_given(call: ast.Call, function: Function, job: ScriptContext) -> list[set[str]]:
    given = [keyword(call, "dtype"), keyword(call, "torch_dtype")]
    given += call.args if isinstance(call.func, ast.Attribute) and call.func.attr == "to" else []
    return [types for value in given if value is not None and (types := types_of(value, function, job))]


def _is_low(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether a call gives a module of low precision: `.half()`, `.to(torch.bfloat16)`, `dtype=torch.bfloat16`."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in {"bfloat16", "half"}:
        return True
    return any(types <= LOW for types in _types_given(call, function, job))


def _raises(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether a call gives a module of full precision, whatever it was before."""
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr in {"float", "double"}:
        return True
    return call.func.attr == "to" and any(not types & LOW for types in _types_given(call, function, job))


RULES = (ScriptRule(ids=(_LOW,), check=low_precision),)
