"""Models that are laid out by a map of devices and then trained: by ranks that share one GPU, or by turns."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import meanings, setting
from distkb.evidence.readers.scripts.names import constant, last, shown

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
    if not trains or not _says("device_map", job=job) or _says(*_SHARDS, job=job):
        return
    several = job.mentions(*_OF_SEVERAL)
    for function, site in job.sites():
        if last(site.node.func) != "from_pretrained" or not _is_trained(site.statement):
            continue
        given = setting(site.node, "device_map", function, job.project) or _configured(site.node, job)
        place = None if given is None else _place(given, function, job)
        if given is not None and place in _OVER and not several and not _says(*_QUANTISED, job=job):
            yield hit(_TURNS, function, site.node, map=shown(given))
        elif given is not None and place in _FIRST and several:
            yield hit(_ONE, function, site.node, map=shown(given))


def _says(*names: str, job: ScriptContext) -> bool:
    """Whether a script, or a settings file of the project, has one of these names."""
    return job.mentions(*names) or any(name in job.project.settings for name in names)


def _configured(call: ast.Call, job: ScriptContext) -> ast.expr | None:
    """Return the map among the settings in a file that are spread over a call."""
    for word in call.keywords:
        found = job.project.settings.agreed(word.value, "device_map") if word.arg is None else None
        if isinstance(found, (str, int)):
            return ast.Constant(found)
    return None


def _is_trained(statement: ast.stmt) -> bool:
    """Whether a model is loaded to be trained, as far as its name says."""
    target = getattr(statement, "targets", [None])[0]
    name = last(target).lower() if target is not None else ""
    return not any(word in name for word in ("ref", "teacher", "judge", "reward", "frozen", "embed"))


def _place(node: ast.expr, function: Function, job: ScriptContext) -> object:
    """Return where a map puts the whole model: a device, or the word for several of them; None where it is open."""
    written = job.project.settings.agreed(node)
    if isinstance(written, (str, int)) and not isinstance(written, bool):
        return written
    found = [value for value, _ in meanings(node, function, job.project)]
    value = found[0] if len(found) == 1 else None
    if isinstance(value, ast.Dict) and len(value.keys) == 1 and constant(value.keys[0]) == "":
        value = value.values[0]
    return value.value if isinstance(value, ast.Constant) else None


RULES = (ScriptRule(ids=(_ONE, _TURNS), check=maps),)
