"""Models that are laid out by a map of devices and then trained: by ranks that share one GPU, or by turns."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import meanings, setting
from distkb.evidence.readers.scripts.names import constant, last, shown
from distkb.evidence.readers.scripts.project import Function

_ONE, _TURNS = "script.map-to-one-gpu", "script.layers-take-turns"
_OVER = frozenset({"auto", "balanced", "balanced_low_0", "sequential"})
_FIRST = frozenset({0, "0", "cuda", "cuda:0"})
_OF_SEVERAL = ("ddp_find_unused_parameters", "ddp_backend", "ddp_timeout", "LOCAL_RANK", "local_rank", "WORLD_SIZE",
               "Accelerator", "PartialState", "process_index", "local_process_index", "main_process_first",
               "is_main_process", "is_world_process_zero", "init_process_group", "get_rank")  # fmt: skip
"""Names that only a program of several processes needs."""
_QUANTISED = ("BitsAndBytesConfig", "quantization_config", "load_in_4bit", "load_in_8bit", "GPTQConfig")
"""Names of models that are made to fit one GPU."""
_SHARDS = ("deepspeed", "fsdp", "fully_shard", "FullyShardedDataParallel")


def maps(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield models to be trained that are loaded with a map which is made for one process."""
    trains = job.mentions("backward") or any(word.endswith("Trainer") for word in job.vocabulary)
    if not trains or not job.mentions("device_map") or job.mentions(*_SHARDS):
        return
    several = job.mentions(*_OF_SEVERAL)
    for function, site in job.sites():
        given = setting(site.node, "device_map", function, job.project)
        if last(site.node.func) != "from_pretrained" or given is None or not _is_trained(site.statement):
            continue
        place = _place(given, function, job)
        if place in _OVER:
            if not several and not job.mentions(*_QUANTISED):
                yield hit(_TURNS, function, site.node, map=shown(given))
        elif place in _FIRST and several:
            yield hit(_ONE, function, site.node, map=shown(given))


def _is_trained(statement: ast.stmt) -> bool:
    """Whether a model is loaded to be trained, as far as its name says."""
    target = getattr(statement, "targets", [None])[0]
    name = last(target).lower() if target is not None else ""
    return not any(word in name for word in ("ref", "teacher", "judge", "reward", "frozen", "embed"))


def _place(node: ast.expr, function: Function, job: ScriptContext) -> object:
    """Return where a map puts the whole model: a device, or the word for several of them; None where it is open."""
    found = [value for value, _ in meanings(node, function, job.project)]
    value = found[0] if len(found) == 1 else None
    if isinstance(value, ast.Dict) and len(value.keys) == 1 and constant(value.keys[0]) == "":
        value = value.values[0]
    return value.value if isinstance(value, ast.Constant) else None


RULES = (ScriptRule(ids=(_ONE, _TURNS), check=maps),)
