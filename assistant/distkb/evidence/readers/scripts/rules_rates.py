"""Learning rates that a rank changes by what it has measured itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.blocks import statements
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import constant, names_in, shown
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.rules_updates import RANK_OWN

_RATE = "script.rate-by-own-measure"


def by_own_measure(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield changes of an optimizer's rate, here or in a function called, under a test on the rank's own number."""
    if not job.is_parallel:
        return
    for function in job.project.functions:
        for tests in _changes(function, job):
            test = next((one for one in tests if _is_own(one, function, job)), None)
            if test is not None:
                yield hit(_RATE, function, test, test=shown(test))
                break


def _changes(function: Function, job: ScriptContext) -> Iterator[list[ast.expr]]:
    """Yield the tests around each change."""
    for statement, arms in statements(function.node.body):
        if _sets_rate(statement):
            yield [arm.node.test for arm in arms if isinstance(arm.node, ast.If)]
    for site in job.project.walk(function).sites:
        target = job.project.target(site.node, function)
        if target is not None and site.where.decided and any(_sets_rate(s) for s, _ in statements(target.node.body)):
            yield list(site.where.decided)


def _sets_rate(statement: ast.stmt) -> bool:
    """`group["lr"] = …` of an optimizer's groups."""
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AugAssign):
        targets = [statement.target]
    else:
        return False
    return any(isinstance(one, ast.Subscript) and constant(one.slice) == "lr" for one in targets)


def _is_own(test: ast.expr, function: Function, job: ScriptContext) -> bool:
    found = {reason.origin for reason in job.origins.of_amounts(test, function)}
    ranked = job.origins.depends([test], function, "rank")
    return bool(found & RANK_OWN) and not ranked and not _agrees(test, function, job)


def _agrees(test: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether a name of the test was brought together by a collective on the way."""
    named = names_in(test)
    walk = job.project.walk(function)
    called = (part for made in walk.assignments if made.target in named for part in nodes(made.value))
    sent = (part for part in called if isinstance(part, ast.Call))
    return any(
        need.category in {"collective", "hidden"} for call in sent for need in job.effects.of_call(call, function)
    )


RULES = (ScriptRule(ids=(_RATE,), check=by_own_measure),)
