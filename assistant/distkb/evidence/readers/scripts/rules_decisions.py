"""Tests that every rank makes for itself, on what differs from rank to rank, around a call that needs all of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.blocks import LOOPS, exits, head, statements
from distkb.evidence.readers.scripts.collectives import TOGETHER
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import dotted, last, shown
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.origins import Reason
from distkb.evidence.readers.scripts.outside import Origin
from distkb.evidence.readers.scripts.project import Function

_IDS: dict[Origin, str] = {
    "measure": "script.decided-by-own-measure",
    "clock": "script.decided-by-own-clock",
    "file": "script.decided-by-own-files",
    "batch": "script.decided-by-own-batch",
    "part": "script.decided-by-own-part",
}
_SAVED = "script.saved-by-own-measure"
_SAVES = frozenset({"save", "state-dict"})
_STOP = "should_stop"
"""Of Lightning's trainer, which every rank obeys by itself (fit_loop.py, training_epoch_loop.py)."""
_SWITCHES = frozenset({"should_training_stop", "should_epoch_stop", "should_evaluate", "should_save"})
"""Of Trainer's control (trainer_callback.py)."""
_WRAPPERS = ("DistributedDataParallel", "FullyShardedDataParallel", "fully_shard", "Accelerator", "Fabric")


def decided_alone(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield each test, loop and exit of the kind once, at the test."""
    wrapped = any(target.endswith(_WRAPPERS) for script in job.project.scripts for target in script.imports.values())
    for function in job.project.functions:
        sites = job.project.walk(function).sites
        needs = [(site, *need) for site in sites if (need := _needs(site, function, job, wrapped=wrapped)) is not None]
        saved = {name for _, name, is_save in needs if is_save}
        decisions = [(name, test, is_length) for site, name, _ in needs for test, is_length in _tests(site)]
        seen: set[int] = set()
        for name, test, is_length in (*decisions, *_switched(function)):
            if id(test) in seen:
                continue
            seen.add(id(test))
            if is_length and name.endswith("backward()") and job.mentions("Join"):
                continue  # it stands in for a rank whose data has ended
            found = _differs(test, function, job, is_length=is_length)
            # The measures that Trainer gives its callbacks were gathered from all ranks.
            gathered = name in _SWITCHES or function.name.endswith(".on_evaluate")
            if found is not None and not (gathered and found.origin == "measure"):
                on = shown(found.node) if isinstance(found.node, ast.expr) else found.function.name
                identity = _SAVED if found.origin == "measure" and name in saved else _IDS[found.origin]
                yield hit(identity, function, test, test=shown(test), on=on, needs=name)


def _switched(function: Function) -> Iterator[tuple[str, ast.expr, bool]]:
    """Yield what decides over a switch of a trainer's that every rank obeys by itself."""
    for statement, arms in statements(function.node.body):
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Attribute):
            continue
        name, owner = statement.targets[0].attr, statement.targets[0].value
        if name in _SWITCHES or (name == _STOP and last(owner) == "trainer" and not _is_shared(function)):
            for arm in arms:
                if isinstance(arm.node, ast.If):
                    yield name, arm.node.test, False
            if not isinstance(statement.value, ast.Constant):
                yield name, statement.value, False


def _is_shared(function: Function) -> bool:
    """Whether a function brings Lightning's switch itself together over the ranks."""
    assigned = (node for node in nodes(function.node) if isinstance(node, ast.Assign))
    made = [one.value for one in assigned if last(one.targets[0]) == _STOP and isinstance(one.value, ast.Call)]
    return any(last(value.func) in {"broadcast", "reduce_boolean_decision"} for value in made)


def _needs(site: Site, function: Function, job: ScriptContext, *, wrapped: bool) -> tuple[str, bool] | None:
    """What a call needs from all ranks, and whether it saves; None where it is nothing, or only some ranks come."""
    if site.where.side != "both":
        return None
    if last(site.node.func) == "backward" and wrapped:
        return f"{shown(site.node.func)}()", False
    found = next((n for n in job.effects.of_call(site.node, function) if n.category in {*TOGETHER, *_SAVES}), None)
    if found is None:
        return None
    return " → ".join((*(f"{name}()" for name in found.chain), found.name)), found.category in _SAVES


def _tests(site: Site) -> Iterator[tuple[ast.expr, bool]]:
    """Yield what decides whether and how often a call is made: branches, loops, and the ways out of loops before it."""
    for test in site.where.tests:
        yield test, False
    for loop in site.where.loops:
        over = head(loop)
        if over is not None:
            yield over, not isinstance(loop, ast.While)
        for arms in exits(loop):
            for arm in reversed(arms):
                if isinstance(arm.node, LOOPS):
                    break
                if isinstance(arm.node, ast.If):
                    yield arm.node.test, False


def _differs(test: ast.expr, function: Function, job: ScriptContext, *, is_length: bool) -> Reason | None:
    if is_length:
        # A list of files is the same for all ranks more often than not.
        own = {"part", "clock", "batch"} if _is_kept(test, function, job) else {"part", "clock"}
        return next((r for r in job.origins.of_length(test, function) if r.origin in own), None)
    found = job.origins.of(test, function)
    if any(r.origin == "rank" and any(part is r.node for part in nodes(test)) for r in found):
        return None  # a test on the rank itself is another rule's
    for reason in found:
        if reason.origin == "file":
            # What was read from files long before is mostly the same everywhere; what is looked up here may not be.
            if _stands_in(reason, test, function, job):
                return reason
        elif reason.origin in {"measure", "batch"}:
            # Whether something is there at all, or which kind, is a matter of settings.
            if any(r.origin == reason.origin for r in job.origins.of_amounts(test, function)):
                return reason
        elif reason.origin in _IDS:
            return reason
    return None


_VIEWS = frozenset({"items", "keys", "values", "sorted", "list", "tuple"})


def _is_kept(iterable: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether a loop goes over a container that was filled under keys before: what it met decides how long it is."""
    while isinstance(iterable, ast.Call) and last(iterable.func) in _VIEWS:
        over = iterable.func.value if isinstance(iterable.func, ast.Attribute) else next(iter(iterable.args), None)
        if over is None:
            return False
        iterable = over
    name = dotted(iterable)
    scopes = function.owner.methods.values() if name.startswith("self.") and function.owner else (function,)
    return any(job.project.walk(scope).keys.get(name) for scope in scopes if name)


def _stands_in(reason: Reason, test: ast.expr, function: Function, job: ScriptContext) -> bool:
    shown_as = [
        test,
        *filter(None, (job.project.single(n, function) for n in nodes(test) if isinstance(n, ast.expr))),
    ]
    return any(part is reason.node for value in shown_as for part in nodes(value))


RULES = (ScriptRule(ids=(*_IDS.values(), _SAVED), check=decided_alone),)
