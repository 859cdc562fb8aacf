"""Whole states of sharded models that every rank builds, and keeps on its GPU, to save them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import argument, has_spread, keyword
from distkb.evidence.readers.scripts.collectives import STATES
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import literals, meanings
from distkb.evidence.readers.scripts.names import canonical, last, shown

_WHOLE, _DEFAULT = "script.full-state-on-every-rank", "script.state-without-type"
_SAVES = frozenset({"torch.save", "safetensors.torch.save_file", "save_checkpoint", "save_pretrained"})
_PLACES = {"full_state_dict": 0, "cpu_offload": 1}
"""Places of the arguments of `StateDictOptions`."""


def _saves(job: ScriptContext) -> bool:
    """Whether any script writes a file: a whole state may also be meant for another model on every rank."""
    for function, call in job.calls():
        full = canonical(call.func, function.script)
        if full in _SAVES or full.rpartition(".")[2] in _SAVES:
            return True
    return False


def on_every_rank(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield calls that ask for the whole state of a sharded model without leaving it to one rank's host memory."""
    if not job.project.declared.has_sharded or not _saves(job):
        return
    told: set[int] = set()
    for function, call in job.calls():
        for made, lacks in _asked(call, function, job):
            if id(made) not in told:
                told.add(id(made))
                values = {"call": shown(call.func), "options": shown(made), "options_line": str(made.lineno)}
                yield hit(_WHOLE, function, call, lacks=lacks, **values)


def _asked(call: ast.Call, function: Function, job: ScriptContext) -> Iterator[tuple[ast.expr, str]]:
    """Yield the settings by which a call asks for a whole state on every rank, and what is missing in them."""
    full = canonical(call.func, function.script)
    name = full.rpartition(".")[2]
    if name in STATES and full.startswith("torch.distributed.checkpoint"):
        options = keyword(call, "options")
        for made, scope in meanings(options, function, job.project):
            if isinstance(made, ast.Call) and last(made.func) == "StateDictOptions" and not has_spread(made):
                whole, off = (_is_true(_option(made, key), scope, job) for key in _PLACES)
                if whole is True and off is False:
                    yield made, "cpu_offload=True"
    elif name in {"state_dict_type", "set_state_dict_type"} and _is_full(call):
        config = argument(call, "state_dict_config", 2)
        found = list(meanings(config, function, job.project)) if config is not None else [(call, function)]
        for made, scope in found:
            if made is call:
                yield call, "FullStateDictConfig(offload_to_cpu=True, rank0_only=True)"
            elif isinstance(made, ast.Call) and last(made.func) == "FullStateDictConfig" and not has_spread(made):
                off = _is_true(argument(made, "offload_to_cpu", 0), scope, job)
                one = _is_true(argument(made, "rank0_only", 1), scope, job)
                if one is False and (off is False or not _loads(call, function, job)):
                    yield made, "rank0_only=True" if off else "offload_to_cpu=True, rank0_only=True"


def _option(made: ast.Call, name: str) -> ast.expr | None:
    place = _PLACES[name]
    return keyword(made, name) or (made.args[place] if place < len(made.args) else None)


def _is_full(call: ast.Call) -> bool:
    given = argument(call, "state_dict_type", 1)
    return given is not None and last(given) == "FULL_STATE_DICT"


def _is_true(node: ast.expr | None, function: Function, job: ScriptContext) -> bool | None:
    """Return what a switch is set to; None where that is open."""
    if node is None:
        return False
    known = {bool(one) for one in literals(node, function, job.project)}
    return next(iter(known)) if len(known) == 1 else None


def _loads(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether a block of FSDP1's, or the function, also loads a state, for which every rank needs all of it."""
    sites = job.project.walk(function).sites
    inside = [one for one in sites if call in one.where.blocks] or sites
    return any(last(one.node.func) == "load_state_dict" for one in inside)


def by_default(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield states asked of an FSDP1 model to which no type was given: its default is whole, on every GPU."""
    if job.mentions("state_dict_type", "set_state_dict_type", "get_model_state_dict", "summon_full_params"):
        return
    for function, site in job.sites():
        named = site.node.func
        if site.where.side != "both" or not isinstance(named, ast.Attribute) or named.attr != "state_dict":
            continue
        if kinds.kind_of(named.value, function, job.project, site.node.lineno) == kinds.FSDP1 and _saves(job):
            yield hit(_DEFAULT, function, site.node, call=shown(site.node), model=shown(named.value))
            return


RULES = (
    ScriptRule(ids=(_WHOLE,), check=on_every_rank),
    ScriptRule(ids=(_DEFAULT,), check=by_default),
)
