"""How many processes a trainer of Lightning's starts or joins: one although several are meant, or the script again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import has_spread, keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import meanings, setting
from distkb.evidence.readers.scripts.names import canonical, last, shown

_ALONE, _CHOSEN = "script.trainer-for-one-device", "script.trainer-chooses-devices"
_OF_SEVERAL = ("sync_dist", "DistributedSampler", "all_gather", "LOCAL_RANK", "RANK", "WORLD_SIZE", "world_size",
               "get_world_size", "is_initialized", "init_process_group", "barrier")  # fmt: skip
"""Names that only a program of several processes needs."""
_ONE = (1, "1", "auto")
_INSIDE = ("spawn", "fork", "notebook", "single")
_UNKNOWN = object()


def alone(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield trainers that take one device and no strategy in a program that is written for several processes."""
    if not job.mentions(*_OF_SEVERAL) or job.mentions("LightningCLI", "DDPStrategy", "FSDPStrategy"):
        return
    made = list(_trainers(job))
    for function, call in made if len(made) == 1 else ():
        devices, strategy = _of(call, "devices", function, job), _of(call, "strategy", function, job)
        accelerator, nodes = _of(call, "accelerator", function, job), _of(call, "num_nodes", function, job)
        given = keyword(call, "devices")
        if has_spread(call) or set(nodes) - {None, 1} or _is_from_outside(given, function, job):
            continue
        if any(one not in _ONE for one in set(devices) - {None}) or any(one not in {None, "auto"} for one in strategy):
            continue
        on_cpu = all(one == "cpu" for one in accelerator)
        if on_cpu or all(one in {1, "1"} for one in devices):
            told = shown(given) if given is not None else "'auto'"
            yield hit(_ALONE, function, call, call=shown(call.func), devices=told)
        else:
            yield hit(_CHOSEN, function, call, call=shown(call.func))


def _is_from_outside(node: ast.expr | None, function: Function, job: ScriptContext) -> bool:
    """Whether a value is an attribute that no class of the project holds, as those of the command line are."""
    return isinstance(node, ast.Attribute) and not job.project.held_under(node, function)


def starts_again(job: ScriptContext) -> str:
    """Return the line of a trainer that runs the script once more for each further device; nothing where none does."""
    if job.mentions("LOCAL_RANK", "WORLD_SIZE", "SLURM_PROCID"):
        return ""
    for function, call in _trainers(job):
        devices, strategy = _of(call, "devices", function, job), _of(call, "strategy", function, job)
        inside = any(isinstance(one, str) and any(word in one for word in _INSIDE) for one in strategy)
        if not inside and _UNKNOWN not in strategy and devices and all(_is_several(one) for one in devices):
            return str(call.lineno)
    return ""


def _is_several(devices: object) -> bool:
    if isinstance(devices, str) and devices.lstrip("-").isdigit():
        devices = int(devices)
    return isinstance(devices, int) and not isinstance(devices, bool) and (devices > 1 or devices == -1)


def _trainers(job: ScriptContext) -> Iterator[tuple[Function, ast.Call]]:
    for function, call in job.calls() if job.mentions("lightning", "pytorch_lightning") else ():
        named = canonical(call.func, function.script).endswith(".Trainer")
        if named and kinds.kind_of(call, function, job.project) == kinds.PL_TRAINER:
            yield function, call


def _of(call: ast.Call, name: str, function: Function, job: ScriptContext) -> list[object]:
    """Return what an option of a trainer may be: literals, the number of a list's elements, classes of strategies."""
    value = setting(call, name, function, job.project)
    found: list[object] = [] if value is not None else [None]
    for node, _ in meanings(value, function, job.project):
        if isinstance(node, ast.Constant):
            found.append(node.value)
        elif isinstance(node, (ast.List, ast.Tuple)):
            found.append(len(node.elts))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
            found.append(-1)
        else:
            found.append(last(node.func) if isinstance(node, ast.Call) and name == "strategy" else _UNKNOWN)
    return found


RULES = (ScriptRule(ids=(_ALONE, _CHOSEN), check=alone),)
