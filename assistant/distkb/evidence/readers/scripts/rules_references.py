"""What TRL's trainers refuse: a reference that is the trained model itself, and batches without whole groups."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import argument, keyword, spreads_keywords
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import literals, setting
from distkb.evidence.readers.scripts.names import canonical, dotted, last, shown

_SAME, _GROUPS = "script.reference-is-policy", "script.groups-not-whole"
_SECOND = frozenset({"DPOTrainer", "KTOTrainer", "BCOTrainer", "OnlineDPOTrainer"})
"""Trainers whose second argument is the reference."""
_PROCESSES = (1, 2, 4, 8, 16, 32, 64)
_DEFAULTS = {"per_device_train_batch_size": 8, "num_generations": 8, "gradient_accumulation_steps": 1}


def same_model(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield trainers of TRL's that get one object as the trained model and as its reference."""
    for function, call in job.calls() if job.mentions("trl") else ():
        if not canonical(call.func, function.script).startswith("trl.") or not last(call.func).endswith("Trainer"):
            continue
        model = argument(call, "model", 0)
        second = call.args[1:2] if last(call.func) in _SECOND else []
        reference = keyword(call, "ref_model") or next(iter(second), None)
        if model is None or reference is None or not dotted(reference):
            continue
        if _first(model, function, job) == _first(reference, function, job):
            yield hit(_SAME, function, call, call=shown(call.func), reference=shown(reference))


def _first(node: ast.expr, function: Function, job: ScriptContext, depth: int = 0) -> tuple[str, int]:
    """Return the name behind a name that was given another name's object, with the line of what it holds."""
    scope, made = job.project.binding(dotted(node), function, node.lineno) if dotted(node) else (function, [])
    value = made[-1].value if made and made[-1].index is None else None
    if value is not None and dotted(value) and depth < 4:
        return _first(value, scope, job, depth + 1)
    return dotted(node) or f"line {node.lineno}", made[-1].line if made else 0


def not_whole(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield settings of TRL's GRPO whose batch holds whole groups for no usual number of processes."""
    for function, call in job.calls_of("trl.GRPOConfig", "trl.RLOOConfig") if job.mentions("trl") else ():
        if setting(call, "generation_batch_size", function, job.project) is not None:
            continue
        group = _number(call, "num_generations", function, job)
        batch = _number(call, "per_device_train_batch_size", function, job)
        steps = _number(call, "steps_per_generation", function, job)
        if setting(call, "steps_per_generation", function, job.project) is None:
            steps = _number(call, "gradient_accumulation_steps", function, job)
        if not group or not batch or not steps:
            continue
        if all(batch * steps * count % group for count in _PROCESSES):
            held = f"{batch} × {steps}" if steps > 1 else str(batch)
            yield hit(_GROUPS, function, call, held=held, group=str(group))


def _number(call: ast.Call, name: str, function: Function, job: ScriptContext) -> int:
    """Return what a setting is where that is written out, or its default; 0 where it is open."""
    value = setting(call, name, function, job.project)
    if value is None:
        spread = spreads_keywords(call)
        return 0 if spread else _DEFAULTS.get(name, 0)
    found = [] if isinstance(value, ast.Attribute) else literals(value, function, job.project)
    return found[0] if len(found) == 1 and isinstance(found[0], int) else 0


RULES = (ScriptRule(ids=(_SAME,), check=same_model), ScriptRule(ids=(_GROUPS,), check=not_whole))
