"""Addresses of a script's own at which nobody listens where a launcher has opened another one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import argument, has_spread, keyword, positional
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import meanings
from distkb.evidence.readers.scripts.names import canonical, constant, shown
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.ranks import environment

_ADDRESS, _STORE = "script.address-by-hand", "script.store-nobody-opens"
_MEETS = {"torch.distributed.init_process_group": ("init_method", 1), "torch.distributed.rendezvous": ("url", 0)}
"""Calls that meet at an address, with the name and the place of that argument (torch 2)."""
_STORES = frozenset({"torch.distributed.TCPStore", "torch.distributed.distributed_c10d.TCPStore",
                     "torch._C._distributed_c10d.TCPStore"})  # fmt: skip
_MASTER = 3
"""Place of `is_master` among the arguments of a TCPStore."""
_STARTS = (
    "spawn",
    "start_processes",
    "Process",
    "SLURM_PROCID",
    "OMPI_COMM_WORLD_RANK",
    "TORCHELASTIC_USE_AGENT_STORE",
)
"""Names that show that something else than torchrun starts the ranks, or that the script knows what it does."""
_LAUNCHED = ("RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID", "GROUP_RANK")
_SCHEME = "tcp://"
_DEPTH = 4


def by_hand(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield groups at an address of the script's own, whose ranks come from a launcher."""
    if job.mentions(*_STARTS):
        return
    for function, call in job.calls():
        name, place = _MEETS.get(canonical(call.func, function.script), ("", 0))
        address = argument(call, name, place) if name else None
        rank = keyword(call, "rank") or (positional(call, 1) if name == "url" else None)
        if address is None or rank is None:
            continue
        own = next((v for v, scope in meanings(address, function, job.project) if _is_own(v, scope, job)), None)
        read = {environment(part) for value, _ in meanings(rank, function, job.project) for part in nodes(value)}
        if own is not None and ("RANK" in read or job.mentions("RANK")):
            yield hit(_ADDRESS, function, call, address=str(own.value) if isinstance(own, ast.Constant) else shown(own))


def _is_own(node: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether a text begins with `tcp://` and does not take the launcher's port."""
    return _begins(node) and not _is_launchers(node, function, job)


def _begins(node: ast.expr) -> bool:
    match node:
        case ast.JoinedStr(values=[first, *_]) | ast.BinOp(left=first):
            return _begins(first)
        case ast.Call(func=ast.Attribute(value=ast.Constant() as text, attr="format")):
            return _begins(text)
    return str(constant(node)).startswith(_SCHEME)


def _is_launchers(node: ast.expr, function: Function, job: ScriptContext, depth: int = 0) -> bool:
    """Whether something of a text or a number comes from a variable that may hold the launcher's port."""
    for part in nodes(node):
        if "PORT" in environment(part):
            return True
        if isinstance(part, (ast.Name, ast.Attribute)) and depth < _DEPTH:
            found = [(value, scope) for value, scope in meanings(part, function, job.project) if value is not part]
            if any(_is_launchers(value, scope, job, depth + 1) for value, scope in found):
                return True
    return False


def unopened(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield stores of a script that a launcher starts, where each of them only connects and none listens."""
    if not job.mentions(*_LAUNCHED) or job.mentions(*_STARTS):
        return
    stores = [(f, site) for f, site in job.sites() if canonical(site.node.func, f.script) in _STORES]
    if not stores or any(_may_listen(site.node) for _, site in stores):
        return
    for function, site in stores:
        port = argument(site.node, "port", 1)
        if port is not None and not _is_launchers(port, function, job) and not site.where.expects_error:
            yield hit(_STORE, function, site.node, call=shown(site.node.func), port=shown(port))


def _may_listen(call: ast.Call) -> bool:
    """Whether a store may be the one that the others connect to."""
    if has_spread(call):
        return True
    told = argument(call, "is_master", _MASTER)
    return (told is not None and constant(told) is not False) or keyword(call, "master_listen_fd") is not None


RULES = (
    ScriptRule(ids=(_ADDRESS,), check=by_hand),
    ScriptRule(ids=(_STORE,), check=unopened),
)
