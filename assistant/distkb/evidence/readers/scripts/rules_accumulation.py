"""Accumulated gradients that are averaged at another step, and optimizer states that only one rank restores."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import receiver
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import last, shown
from distkb.evidence.readers.scripts.nodes import nodes

_STEP, _STATE = "script.averaged-at-other-step", "script.optimizer-loaded-by-one"


def other_step(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield loops that average the gradients where one remainder is zero, and update where another one is."""
    for function in job.project.functions if job.mentions("no_sync") else ():
        for node in nodes(function.node):
            if not isinstance(node, ast.IfExp) or not _is_no_sync(node.orelse) or _is_no_sync(node.body):
                continue
            averaged = _remainder(job.project.single(node.test, function) or node.test)
            for site in job.project.walk(function).sites:
                tests = [test for one in site.where.tests if (test := _remainder(one)) is not None]
                if averaged is None or not tests or not _updates(site.node, function, job):
                    continue
                left, divisor = tests[-1]
                if divisor == averaged[1] and left != averaged[0]:
                    values = {"averaged": shown(node.test), "updated": shown(site.where.tests[-1])}
                    yield hit(_STEP, function, node, **values)
                    break


def _updates(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "step":
        return False
    return kinds.kind_of(call.func.value, function, job.project, call.lineno) == kinds.OPTIMIZER


def _is_no_sync(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last(node.func) == "no_sync"


def _remainder(test: ast.expr) -> tuple[str, str] | None:
    """Return the two sides of `a % b == 0` as text."""
    left = test.left if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq) else None
    if not isinstance(left, ast.BinOp) or not isinstance(left.op, ast.Mod):
        return None
    return shown(left.left), shown(left.right)


def state_of_one(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield optimizer states that only some ranks load, where every rank steps an optimizer of its own."""
    if not job.is_parallel or job.mentions(
        "broadcast_object_list", "ZeroRedundancyOptimizer", "_optim_state", "optim_state_dict"
    ):
        return
    for function, site in job.sites():
        call, guard = site.node, site.where.guard
        if site.where.side == "both" or guard is None or last(call.func) != "load_state_dict":
            continue
        owner = receiver(call) or call.func
        if kinds.kind_of(owner, function, job.project, call.lineno) == kinds.OPTIMIZER:
            yield hit(_STATE, function, call, optimizer=shown(owner), test=shown(guard.node))


RULES = (
    ScriptRule(ids=(_STEP,), check=other_step),
    ScriptRule(ids=(_STATE,), check=state_of_one),
)
