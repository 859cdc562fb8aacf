"""Process groups: ranks of the group where those of the job are asked for, timeouts, stores, the order of a mesh."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import msgspec

from distkb.evidence.readers.scripts.arguments import argument, keyword, positional
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.ranks import is_rank

_LAST = "script.last-group-for-all"
_PEER, _DEFAULT = "script.group-rank-as-global", "script.group-keeps-default-timeout"
_CALLS = {"broadcast": 1, "broadcast_object_list": 1, "reduce": 1, "gather": 2, "gather_object": 2, "scatter": 2,
          "scatter_object_list": 2, "send": 1, "recv": 1, "isend": 1, "irecv": 1}  # fmt: skip
"""Where `src` or `dst` stands, which names a rank of the whole job (torch.distributed, all versions)."""
_SEVERAL = frozenset({"get_group", "new_subgroups", "new_subgroups_by_enumeration", "get_submesh"})
"""Calls that give a rank the one of several groups in which it is."""
_GLOBAL = frozenset({"get_global_rank", "get_process_group_ranks"})
_BEGINS = frozenset({"init_process_group", "InitProcessGroupKwargs"})
_MAKES = frozenset({"new_group", "new_subgroups", "new_subgroups_by_enumeration"})
"""Calls that make groups, and give them the backend's default timeout unless told (torch.distributed, all versions)."""
_DEPTH = 5
_STORE, _ORDER = "script.store-opened-by-all", "script.mesh-in-other-order"
_NODE = re.compile(r"(?:node|group|machine|host)_?rank|slurm_nodeid|node_?id")


def group_rank(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield `src=` and `dst=` that are ranks within the group of the call."""
    for function, call in job.calls():
        full = canonical(call.func, function.script)
        place = _CALLS.get(last(call.func)) if full.startswith("torch.distributed.") else None
        group = keyword(call, "group")
        if place is None or group is None or constant(group) is None:
            continue
        peer = keyword(call, "src") or keyword(call, "dst") or positional(call, place)
        if peer is not None and _is_within(peer, group, function, job):
            yield hit(_PEER, function, call, call=shown(call.func), peer=shown(peer), group=shown(group))


def _is_within(peer: ast.expr, group: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether a peer is counted within the group, or is rank 0 though the job has several such groups."""
    if constant(peer) == 0:
        return any(last(part.func) in _SEVERAL for part in _made_of(group, function, job) if isinstance(part, ast.Call))
    parts = [part for part in _made_of(peer, function, job) if isinstance(part, ast.Call)]
    if any(last(part.func) in _GLOBAL for part in parts):
        return False
    return any(
        last(part.func) == "get_local_rank"
        or (last(part.func) == "get_rank" and bool(part.args or keyword(part, "group")) and not _is_world(part))
        for part in parts
    )


def _is_world(call: ast.Call) -> bool:
    given = argument(call, "group", 0)
    return given is None or constant(given) is None or last(given) == "WORLD"


def _made_of(node: ast.expr, function: Function, job: ScriptContext) -> list[ast.AST]:
    """Return the parts of an expression, and of what its names stand for where that is plain."""
    found: list[ast.AST] = []
    left: list[tuple[ast.expr, int]] = [(node, 0)]
    while left:
        top, depth = left.pop()
        parts = nodes(top)
        found += parts
        for part in parts if depth < _DEPTH else ():
            if isinstance(part, (ast.Name, ast.Attribute)):
                value = job.project.single(part, function)
                if value is not None and value is not top:
                    left.append((value, depth + 1))
    return found


def default_timeout(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield the first group without a timeout of its own in a job whose default group is given one."""
    sites = list(job.calls())
    set_by = next((f for f in sites if last(f[1].func) in _BEGINS and keyword(f[1], "timeout") is not None), None)
    for function, call in sites if set_by is not None else ():
        full = canonical(call.func, function.script)
        if last(call.func) in _MAKES and full.startswith("torch.distributed.") and keyword(call, "timeout") is None:
            given = len(call.args) > 1 and last(call.func) == "new_group"
            if set_by is not None and not given:
                yield hit(_DEFAULT, function, call, call=shown(call.func), begins=shown(set_by[1].func))
                return


def opened_by_all(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield stores that every process of a machine opens as their master on one port."""
    for function, site in job.sites() if job.mentions("TCPStore") else ():
        call = site.node
        master = argument(call, "is_master", 3)
        if canonical(call.func, function.script) != "torch.distributed.TCPStore" or master is None:
            continue
        if site.where.side != "both" or (len(call.args) > 1 and constant(call.args[1]) == 0):
            continue
        parts = _made_of(master, function, job)
        named = {last(part).lower() for part in parts} | {str(constant(part)).lower() for part in parts}
        by_node = any(_NODE.search(name) for name in named)
        if constant(master) is True and not any("rank" in shown(test) for test in site.where.tests):
            by_node = not _is_own_process(function, job)
        elif any("rank" in name and not _NODE.search(name) for name in named):
            by_node = False
        if by_node:
            yield hit(_STORE, function, call, master=shown(master))


def _is_own_process(function: Function, job: ScriptContext) -> bool:
    """Whether one process may be meant: a function of its own that only some ranks, or nobody known, calls."""
    callers = job.project.callers(function)
    in_module = isinstance(function.node, ast.Module)
    return not in_module and (not callers or any(site.where.side != "both" for _, site in callers))


def mesh_order(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield data that is divided by the rank's place in another order than the mesh has it.

    In a mesh of (a, b) the place in a is `rank // b`, and that in b is `rank % b`.
    """
    outer: dict[str, tuple[Function, ast.Call]] = {}
    inner: set[str] = set()
    for function, call in job.calls():
        shape = argument(call, "mesh_shape", 1)
        if last(call.func) == "init_device_mesh" and isinstance(shape, ast.Tuple) and len(shape.elts) == 2:
            first, second = (last(size) for size in shape.elts)
            inner.add(second)
            if first:
                outer[first] = (function, call)
    for function, site in job.sites() if outer.keys() - inner else ():
        given = keyword(site.node, "rank") or keyword(site.node, "shard_id") or keyword(site.node, "index")
        made = given if given is None or not dotted(given) else job.project.single(given, function) or given
        if isinstance(made, ast.BinOp) and isinstance(made.op, (ast.FloorDiv, ast.Mod)) and is_rank(made.left):
            size = last(made.right)
            mesh = outer.get(size) if size not in inner else None
            if mesh is not None and keyword(mesh[1], "mesh_dim_names") is not None:
                shape = argument(mesh[1], "mesh_shape", 1)
                values = {"place": shown(made), "mesh": shown(shape or mesh[1]), "size": shown(made.right)}
                found = hit(_ORDER, function, site.node, **values)
                yield msgspec.structs.replace(found, more=((mesh[0].script, mesh[1].lineno),))


def last_of_loop(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield groups that a loop makes for one set of ranks after the other, and of which every rank keeps the last."""
    for function in job.project.functions:
        walked = job.project.walk(function)
        for made in walked.assignments:
            value = made.value
            if not isinstance(value, ast.Call) or last(value.func) != "new_group" or not made.where.loops:
                continue
            loop = made.where.loops[-1]
            end = loop.end_lineno or loop.lineno
            if made.where.tests or made.index is not None or any(_keeps(part, made.target) for part in nodes(loop)):
                continue
            later = [n for n in nodes(function.node) if dotted(n) == made.target and getattr(n, "lineno", 0) > end]
            again = any(other.line > end for other in walked.assignments if other.target == made.target)
            if later and not again and made.where.side == "both":
                yield hit(_LAST, function, value, group=made.target, loop_line=str(loop.lineno))


def _keeps(node: ast.AST, name: str) -> bool:
    """Whether a group is put away or looked at in the loop that makes it."""
    if isinstance(node, ast.Call) and last(node.func) != "new_group":
        return any(dotted(part) == name for argument in node.args for part in nodes(argument))
    if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Call):
        return name in {dotted(part) for part in nodes(node.value)}
    return isinstance(node, (ast.Yield, ast.If))


RULES = (
    ScriptRule(ids=(_LAST,), check=last_of_loop),
    ScriptRule(ids=(_PEER,), check=group_rank),
    ScriptRule(ids=(_DEFAULT,), check=default_timeout),
    ScriptRule(ids=(_STORE,), check=opened_by_all),
    ScriptRule(ids=(_ORDER,), check=mesh_order),
)
