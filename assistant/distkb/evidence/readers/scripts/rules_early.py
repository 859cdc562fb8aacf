"""Models that are loaded before what makes the loading divide them exists: DeepSpeed's settings, the process group."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import meanings, setting
from distkb.evidence.readers.scripts.names import canonical, constant, last, shown

_WHOLE, _BEFORE = "script.loaded-before-third-stage", "script.loaded-before-group"
_LOADS = frozenset({"from_pretrained", "from_config"})
_SETTINGS = ("Arguments", "Config")
_BEGINS = frozenset({"init_process_group", "init_device_mesh", "init_distributed"})
_DEPTH = 3


def before_settings(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield models of transformers that are loaded above the settings that tell it to divide them by ZeRO's stage 3."""
    if not job.mentions("from_pretrained", "from_config") or job.mentions("HfDeepSpeedConfig", "Init"):
        return
    for function in job.project.functions:
        sites = job.project.walk(function).sites
        made = next((site for site in sites if _gives_third_stage(site.node, function, job)), None)
        if made is None:
            continue
        for site in sites:
            load = _load_in(site.node, function, job) if site.node.lineno < made.node.lineno else None
            if load is not None and not _excludes(site, made):
                settings = shown(made.node.func)
                yield hit(_WHOLE, function, site.node, call=shown(load), settings=settings, later=str(made.node.lineno))
                break


def _gives_third_stage(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether a call makes what tells transformers, while it loads, that the parameters are divided by stage 3."""
    name = last(call.func)
    if kinds.kind_of(call, function, job.project) == kinds.ACCELERATOR and isinstance(
        call.func, (ast.Name, ast.Attribute)
    ):
        plugin = setting(call, "deepspeed_plugin", function, job.project)
        made = meanings(plugin, function, job.project)
        return any(
            isinstance(one, ast.Call) and constant(setting(one, "zero_stage", scope, job.project)) == 3
            for one, scope in made
        )
    given = setting(call, "deepspeed", function, job.project) if name.endswith(_SETTINGS) else None
    return any(_is_third(one) for one, _ in meanings(given, function, job.project))


def _is_third(node: ast.expr) -> bool:
    """Whether a configuration is written out, or named, as one of the third stage."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        name = node.value.lower().replace("-", "").replace("_", "")
        return any(word in name for word in ("zero3", "stage3"))
    if not isinstance(node, ast.Dict):
        return False
    pairs = zip(node.keys, node.values, strict=True)
    return any((constant(key) == "stage" and constant(value) == 3) or _is_third(value) for key, value in pairs
               if isinstance(value, ast.Dict) or constant(key) == "stage")  # fmt: skip


def _load_in(call: ast.Call, function: Function, job: ScriptContext, depth: int = 0) -> ast.Call | None:
    """Return the call that loads a model, be it in a function of the project that is called."""
    if last(call.func) in _LOADS and isinstance(call.func, ast.Attribute):
        owner = canonical(call.func.value, function.script)
        name = owner.rpartition(".")[2]
        is_model = owner.startswith("transformers.") and ("Model" in name or "For" in name)
        return call if is_model else None
    below = job.project.below(call, function) if depth < _DEPTH else ()
    inside = (_load_in(site.node, target, job, depth + 1) for target, site in below)
    return next((load for load in inside if load is not None), None)


def _excludes(one: Site, other: Site) -> bool:
    """Whether two calls stand under tests that are not the same, of which perhaps only one is reached."""
    return {id(test) for test in one.where.tests} != {id(test) for test in other.where.tests}


def before_group(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield models that every rank loads in full above the process group, where rank 0's weights are sent on."""
    told = job.mentions("broadcast_from_rank0", "FSDP_CPU_RAM_EFFICIENT_LOADING", "cpu_ram_efficient_loading")
    if not told and not (job.mentions("Accelerator") and job.project.declared.spread in {kinds.FSDP1, kinds.FSDP2}):
        return
    for function in job.project.functions:
        sites = job.project.walk(function).sites
        begin = next((site for site in sites if _begins(site.node, function)), None)
        for site in sites if begin is not None else ():
            early = begin is not None and site.node.lineno < begin.node.lineno and site.where.side == "both"
            load = _load_in(site.node, function, job) if early else None
            if load is not None and begin is not None and last(load.func) == "from_pretrained":
                yield hit(
                    _BEFORE, function, site.node, call=shown(load), begin=shown(begin.node.func),
                    later=str(begin.node.lineno),
                )  # fmt: skip
                break


def _begins(call: ast.Call, function: Function) -> bool:
    """Whether a call makes the process group."""
    if last(call.func) in _BEGINS:
        return True
    return canonical(call.func, function.script) == "accelerate.Accelerator"


RULES = (
    ScriptRule(ids=(_WHOLE,), check=before_settings),
    ScriptRule(ids=(_BEFORE,), check=before_group),
)
