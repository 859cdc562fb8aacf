"""Random states that hooks of Lightning put into the checkpoint, of which there is one for all ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import roots
from distkb.evidence.readers.scripts.names import canonical, constant, last, shown, words
from distkb.evidence.readers.scripts.rules_checkpoints import SETS_RANDOM

_HOOKED = "script.one-random-state-by-hooks"
_SAVES, _LOADS = ("state_dict", "on_save_checkpoint"), ("load_state_dict", "on_load_checkpoint")
_GETS = frozenset({"get_rng_state", "getstate", "get_state"})
_OF_LIGHTNING = ("Callback", "LightningModule", "DataModule")
_BY_RANK = frozenset({"all_gather", "all_gather_object", "gather_object", "gather", "get_rank", "global_rank", "rank",
                      "local_rank", "world_size", "get_world_size"})  # fmt: skip
_BEFORE = frozenset({"__init__", "setup", "prepare_data", "configure_model", "configure_optimizers"})
"""Hooks that a Trainer calls before it brings a checkpoint back."""


def by_hooks(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield random states that every rank sets out of Lightning's checkpoint, where rank 0's were put into it."""
    if not _has_ranks(job) or not job.draws_differ or _differs_again(job):
        return
    told: set[int] = set()
    for function, call in job.calls():
        full = canonical(call.func, function.script)
        if last(call.func) not in SETS_RANDOM or not call.args or not full.startswith(("torch.", "random.", "numpy.")):
            continue
        for root, hook in roots(call.args[0], function, job.project) if not words(call) & _BY_RANK else ():
            saves = _saved(root, hook, job)
            if saves is not None and id(hook) not in told:
                told.add(id(hook))
                yield hit(_HOOKED, function, call, call=shown(call), saves=saves[0].name, save=shown(saves[1]))


def _has_ranks(job: ScriptContext) -> bool:
    """Whether a Trainer of Lightning is told how several ranks work together."""
    for function, call in job.calls():
        if kinds.kind_of(call, function, job.project) == kinds.PL_TRAINER:
            strategy, devices = keyword(call, "strategy"), keyword(call, "devices")
            several = isinstance(constant(devices), int) and constant(devices) not in {0, 1}
            if several or (strategy is not None and constant(strategy) != "auto"):
                return True
    return False


def _saved(root: ast.expr, hook: Function, job: ScriptContext) -> tuple[Function, ast.Call] | None:
    """Return the hook that puts a state of its own rank into what a loading hook of the same class is given."""
    owner = hook.owner
    given = isinstance(root, ast.Name) and root.id in hook.parameters
    if owner is None or not given or hook.name.rpartition(".")[2] not in _LOADS or not _is_hooked(owner):
        return None
    methods = [owner.methods[name] for name in _SAVES if name in owner.methods]
    if any(words(method.node) & _BY_RANK for method in (hook, *methods)):
        return None
    for method in methods:
        for site in job.project.walk(method).sites:
            target = job.project.target(site.node, method)
            inner = job.project.walk(target).sites if target is not None else []
            if target is not None and words(target.node) & _BY_RANK:
                return None
            if any(last(one.node.func) in _GETS for one in (site, *inner)):
                return method, site.node
    return None


def _is_hooked(owner: Class) -> bool:
    return any(last(base).endswith(_OF_LIGHTNING) for base in owner.node.bases)


def _differs_again(job: ScriptContext) -> bool:
    """Whether a seed with the rank in it is set where a checkpoint has been brought back already."""
    for function, call in job.calls():
        is_early = function.name.rpartition(".")[2] in _BEFORE or function.owner is None
        given = call.args if "seed" in last(call.func) and not is_early else []
        if job.origins.depends(given, function, "rank"):
            return True
    return False


RULES = (ScriptRule(ids=(_HOOKED,), check=by_hooks),)
