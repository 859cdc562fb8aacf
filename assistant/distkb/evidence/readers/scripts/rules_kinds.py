"""Halves of one meeting of all ranks of which one asks for the global rank and the other for the local one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import msgspec

from distkb.evidence.readers.scripts.collectives import implied
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Guard, Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import last, shown
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.ranks import FLAGS, environment, is_rank

_MIXED = "script.gates-of-two-ranks"
_DEPTH = 4
_LOCAL = re.compile(r"(?i)local")
_LOCAL_VARIABLES = frozenset({"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"})


def mixed(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield a collective of the first ranks whose partner, for all the others, tells the ranks apart in another way."""
    for function in job.project.functions:
        waiting: dict[str, tuple[Site, Guard]] = {}
        for site in job.project.walk(function).sites:
            need, guard = implied(site.node, function, job.project), site.where.guard
            if need is None or need.category != "collective" or guard is None or site.where.side == "both":
                continue
            first = waiting.pop(need.name, None)
            if first is None or first[0].where.side == site.where.side:
                waiting[need.name] = (site, guard)
                continue
            kinds = [_kind(one.node, function, job) for one in (first[1], guard)]
            if sorted(kinds) == ["global", "local"]:
                values = {"call": shown(site.node.func), "test": shown(guard.node), "other": shown(first[1].node)}
                found = hit(_MIXED, function, site.node, other_line=str(first[1].line), **values)
                yield msgspec.structs.replace(found, more=((function.script, first[0].node.lineno),))


def _kind(test: ast.AST, function: Function, job: ScriptContext, depth: int = 0) -> str:
    """Return which number a test asks for: `local`, `global`, or an empty string where that is not plain."""
    found: set[str] = set()
    for part in nodes(test):
        name = last(part) if isinstance(part, (ast.Name, ast.Attribute)) else ""
        variable = environment(part)
        if variable:
            found.add("local" if variable in _LOCAL_VARIABLES else "global")
        elif _LOCAL.search(name) and (is_rank(part) or name.lower() in FLAGS):
            found.add("local")
        elif name and (is_rank(part) or name.lower() in FLAGS | {"get_rank"}):
            value = job.project.single(part, function) if isinstance(part, (ast.Name, ast.Attribute)) else None
            inner = _kind(value, function, job, depth + 1) if value is not None and depth < _DEPTH else ""
            found.add(inner or "global")
    return found.pop() if len(found) == 1 else ""


RULES = (ScriptRule(ids=(_MIXED,), check=mixed),)
