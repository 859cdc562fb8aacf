"""Stores that a script opens beside the group's: on its port, with the usual timeout, with keys of an earlier start."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import argument, keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import made_by, meanings
from distkb.evidence.readers.scripts.names import constant, last, shown
from distkb.evidence.readers.scripts.ranks import environment

_TAKEN, _USUAL, _KEPT = "script.store-on-taken-port", "script.store-keeps-default-timeout", "script.store-keys-stay"
_STORE = "torch.distributed.TCPStore"
_BEGINS = frozenset({"init_process_group", "InitProcessGroupKwargs"})
_PORT, _MASTER, _TIMEOUT = 1, 3, 4
"""Places of the arguments of TCPStore (torch 2)."""
_SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
_LIMIT = 300
"""Seconds that a store waits unless told (torch 2)."""


def stores(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield stores on the group's port, and those that give up long before the group of the same script does."""
    for function, call in job.calls_of(_STORE) if job.mentions("TCPStore") else ():
        master = argument(call, "is_master", _MASTER)
        port = argument(call, "port", _PORT)
        asked = [environment(value) for value, _ in meanings(port, function, job.project)]
        if "MASTER_PORT" in asked and not _is_groups(job):
            if master is not None and constant(master) is not False:
                if keyword(call, "multi_tenant") is None and job.mentions(*_BEGINS):
                    yield hit(_TAKEN, function, call, call=shown(call))
            elif not job.mentions("TORCHELASTIC_RESTART_COUNT", "uuid") and _used(call, job, "set"):
                yield hit(_KEPT, function, call, call=shown(call))
        waits = next(iter(_used(call, job, "wait", "get")), None)
        if argument(call, "timeout", _TIMEOUT) is None and waits is not None and not job.mentions("set_timeout"):
            longer = _longer(job)
            if longer is not None and (last(waits.func) == "get" or len(waits.args) < 2):
                yield hit(_USUAL, function, call, call=shown(call), waits=shown(waits), begins=shown(longer))


def _is_groups(job: ScriptContext) -> bool:
    """Whether the group itself is made with a store of the script's."""
    return any(last(call.func) == "init_process_group" and keyword(call, "store") for _, call in job.calls())


def _used(store: ast.Call, job: ScriptContext, *names: str) -> list[ast.Call]:
    """Return the calls of a store's methods."""
    found: list[ast.Call] = []
    for function, site in job.sites():
        named = site.node.func
        asked = isinstance(named, ast.Attribute) and named.attr in names and bool(site.node.args)
        owner = named.value if asked and isinstance(named, ast.Attribute) else None
        if owner is not None and any(call is store for _, call, _ in made_by(owner, function, job.project)):
            found.append(site.node)
    return found


def _longer(job: ScriptContext) -> ast.Call | None:
    """Return the call that gives the default group a longer timeout than stores have."""
    for function, call in job.calls():
        value = keyword(call, "timeout") if last(call.func) in _BEGINS else None
        seconds = None if value is None else seconds_of(value, function, job)
        if seconds is not None and seconds > _LIMIT:
            return call
    return None


def seconds_of(node: ast.expr, function: Function, job: ScriptContext) -> float | None:
    """Return the seconds of a timedelta that is written out."""
    for value, _ in meanings(node, function, job.project):
        if isinstance(value, ast.Call) and last(value.func) == "timedelta" and not value.args:
            numbers = [(word.arg, constant(word.value)) for word in value.keywords]
            known = [n * _SECONDS[unit] for unit, n in numbers if unit in _SECONDS and isinstance(n, (int, float))]
            return sum(known) if len(known) == len(numbers) and known else None
    return None


RULES = (ScriptRule(ids=(_TAKEN, _USUAL, _KEPT), check=stores),)
