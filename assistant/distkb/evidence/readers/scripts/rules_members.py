"""Calls that wait for the whole job, in code that only the ranks of one role or group run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import msgspec

from distkb.evidence.readers.scripts.arguments import has_spread, keyword
from distkb.evidence.readers.scripts.blocks import LEAVES
from distkb.evidence.readers.scripts.collectives import TOGETHER, implied
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, last, shown, walk, words
from distkb.evidence.readers.scripts.ranks import assumed, sides

_WITHOUT = "script.group-left-out"
_MAKES = ("new_group", "init_device_mesh", "DeviceMesh", "new_subgroups", "new_subgroups_by_enumeration")
_WRAPS = {"DistributedDataParallel": ("process_group", "device_mesh"), "fully_shard": ("mesh",),
          "FullyShardedDataParallel": ("process_group", "device_mesh")}  # fmt: skip
"""Wrappers, and by which arguments they are told a group of their own."""
_ENDS = frozenset({"exit", "_exit"})
_DEPTH = 6
_ORIGINS = frozenset({"rank"})


class _Need(msgspec.Struct, frozen=True, eq=False):
    """A call of the default group, and where it stands."""

    name: str
    node: ast.Call
    function: Function


def left_out(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield calls of the default group that the ranks of one role make, and those of the other role never."""
    if not job.mentions(*_MAKES):
        return
    told: set[int] = set()
    for function in job.project.functions:
        for test in walk(function.node):
            if not isinstance(test, ast.If) or not _is_of_role(test.test, function, job):
                continue
            one, other = _needs(test.body, function, job), _needs(_otherwise(test, function), function, job)
            for mine, theirs in ((one, other), (other, one)):
                names = {need.name for need in theirs}
                for need in mine if "init_process_group" not in {need.name for need in mine} else ():
                    if need.name not in names and id(need.node) not in told:
                        told.add(id(need.node))
                        yield _hit(need, test, function)


def _hit(need: _Need, test: ast.If, function: Function) -> ScriptFinding:
    values = {"call": shown(need.node.func), "test": shown(test.test), "test_line": str(test.lineno)}
    found = hit(_WITHOUT, need.function, need.node, **values)
    return msgspec.structs.replace(found, more=((function.script, test.lineno),))


def _is_of_role(test: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether a test asks which role or group the rank has: nothing but its number decides, and it is not the first."""
    if assumed(test) is not None or (isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or)):
        return False
    if sides(test, lambda node: job.project.single(node, function)) != ("both", "both"):
        return False
    if _asks_membership(test):
        return True
    names = words(test)
    loops = [part for part in walk(function.node) if isinstance(part, (ast.For, ast.comprehension))]
    if any(names & words(loop.target) for loop in loops):
        return False
    reasons = job.origins.of(test, function)
    later = any(r.function is function and getattr(r.node, "lineno", 0) > test.lineno for r in reasons)
    return not later and {reason.origin for reason in reasons} == _ORIGINS


def _asks_membership(test: ast.expr) -> bool:
    """Whether this is `group != GroupMember.NON_GROUP_MEMBER` or `dist.get_rank(group) >= 0`."""
    if not isinstance(test, ast.Compare):
        return False
    ranked = isinstance(test.left, ast.Call) and last(test.left.func) == "get_rank"
    of_group = isinstance(test.left, ast.Call) and bool(test.left.args or test.left.keywords)
    number = ast.unparse(test.comparators[0])
    return "NON_GROUP_MEMBER" in words(test) or (ranked and of_group and number in {"0", "-1"})


def _otherwise(test: ast.If, function: Function) -> Sequence[ast.stmt]:
    """Return what the ranks do for which a test does not hold: its `else`, or what follows where the others leave."""
    final = test.body[-1]
    ends = isinstance(final, ast.Expr) and isinstance(final.value, ast.Call) and last(final.value.func) in _ENDS
    if test.orelse or not (ends or isinstance(final, (*LEAVES, ast.Raise))):
        return test.orelse
    last_line = test.end_lineno or test.lineno
    return [part for part in walk(function.node) if isinstance(part, ast.stmt) and part.lineno > last_line]


def _needs(body: Sequence[ast.stmt], function: Function, job: ScriptContext) -> list[_Need]:
    """Return the calls of the default group in statements of a function, also in what they call."""
    lines = {line for part in body for line in range(part.lineno, (part.end_lineno or part.lineno) + 1)}
    found: list[_Need] = []
    seen: set[int] = set()
    left = [(site.node, function, 0) for site in _sites(function, job) if site.node.lineno in lines]
    while left:
        call, scope, depth = left.pop(0)
        name = _name(call, scope, job)
        target = None if name else job.project.target(call, scope)
        if name:
            found.append(_Need(name, call, scope))
        elif target is not None and depth < _DEPTH and id(target) not in seen:
            seen.add(id(target))
            left += [(site.node, target, depth + 1) for site in _sites(target, job)]
    return found


def _sites(function: Function, job: ScriptContext) -> list[Site]:
    sites = job.project.walk(function).sites
    return [site for site in sites if site.where.side == "both" and not site.where.expects_error]


def _name(call: ast.Call, function: Function, job: ScriptContext) -> str:
    """Return what a call of the whole job is called; empty for every other call."""
    full = canonical(call.func, function.script)
    told = _WRAPS.get(full.rpartition(".")[2]) if full.startswith("torch.") else None
    if told is not None:
        given = any(constant(keyword(call, name)) is not None for name in told if keyword(call, name) is not None)
        return "" if given or len(call.args) > 1 or has_spread(call) else full.rpartition(".")[2]
    if full == "torch.distributed.init_process_group":
        return "init_process_group"
    need = implied(call, function, job.project)
    return need.name if need is not None and need.category in TOGETHER else ""


RULES = (ScriptRule(ids=(_WITHOUT,), check=left_out),)
