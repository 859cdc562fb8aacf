"""Tests that every rank makes for itself, on what differs from rank to rank, around a call that needs all of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import positional, receiver
from distkb.evidence.readers.scripts.blocks import LOOPS, exits, head, statements
from distkb.evidence.readers.scripts.collectives import TOGETHER
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.outside import Origin, Reason

_IDS: dict[Origin, str] = {
    "measure": "script.decided-by-own-measure",
    "clock": "script.decided-by-own-clock",
    "file": "script.decided-by-own-files",
    "batch": "script.decided-by-own-batch",
    "part": "script.decided-by-own-part",
}
_SAVED, _EVALUATED = "script.saved-by-own-measure", "script.evaluated-by-own-part"
_CALLS = "script.own-calls-by-own-batch"
_SAVES = frozenset({"save", "state-dict", "accelerate-save"})
_VALUES = frozenset({"unique", "unique_consecutive", "nonzero", "argwhere", "masked_select"})
"""Calls that give as many things as the values of a tensor have it."""
_EVALUATES = re.compile(r"(?i)(?:^|_|\.)(?:eval|valid|test|predict|infer|score|embed|encode|dev(?:_|$))")
_QUIET = frozenset({"no_grad", "inference_mode", "eval"})
_DEPTH = 3
"""Functions in one another that are followed to a backward."""
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
            if is_length and name.endswith("backward()") and ("→" in name or job.mentions("Join")):
                continue  # how often a phase comes is the plan; Join stands in for a rank whose data has ended
            found = _differs(test, function, job, is_length=is_length)
            # The measures that Trainer gives its callbacks were gathered from all ranks.
            gathered = name in _SWITCHES or function.name.endswith(".on_evaluate")
            if found is not None and not (gathered and found.origin == "measure"):
                on = shown(found.node) if isinstance(found.node, ast.expr) else found.function.name
                identity = _SAVED if found.origin == "measure" and name in saved else _IDS[found.origin]
                if found.origin == "batch" and not is_length and _ends_training(test, function):
                    identity = _IDS["measure"]
                if found.origin == "measure" and _leaves_step_out(test, name, function):
                    identity = _IDS["batch"]
                if found.origin == "part" and is_length and _is_evaluation(test, function, job):
                    identity = _EVALUATED
                if found.origin == "batch" and identity == _IDS["batch"] and not name.endswith("backward()"):
                    identity = _CALLS
                yield hit(identity, function, test, test=shown(test), on=on, needs=name)


def _is_evaluation(over: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether a loop over data, in which nothing is trained, stands in an evaluation."""
    for site in job.project.walk(function).sites:
        if any(head(loop) is over for loop in site.where.loops) and to_backward(site.node, function, job):
            return False
    return bool(_EVALUATES.search(function.name) or words(function.node) & _QUIET)


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
    if wrapped or _is_trainers(function):
        chain = to_backward(site.node, function, job)
        if chain:
            return chain, False
    found = next((n for n in job.effects.of_call(site.node, function) if n.category in {*TOGETHER, *_SAVES}), None)
    if found is None:
        return None
    return " → ".join((*(f"{name}()" for name in found.chain), found.name)), found.category in _SAVES


def to_backward(call: ast.Call, function: Function, job: ScriptContext, depth: int = 0) -> str:
    """Return the way from a call to a backward that it makes; an empty string where it makes none."""
    if last(call.func) == "backward":
        return f"{shown(call.func)}()"
    target = job.project.target(call, function) if depth < _DEPTH else None
    if target is None or target is function:
        return ""
    ways = (to_backward(site.node, target, job, depth + 1) for site in job.project.walk(target).sites)
    way = next(filter(None, ways), "")
    return f"{target.name}() → {way}" if way else ""


def _is_trainers(function: Function) -> bool:
    """Whether a function is the step of a Trainer of Transformers that the project has rewritten."""
    return function.name.endswith(".training_step") and any(last(base).endswith("Trainer") for base in function.bases)


def _ends_training(test: ast.expr, function: Function) -> bool:
    """Whether a test leaves a loop that has the loop over the batches in it: it looks at what they came to."""
    for statement, arms in statements(function.node.body):
        if not isinstance(statement, ast.If) or statement.test is not test:
            continue
        around = [arm.node for arm in arms if isinstance(arm.node, LOOPS)]
        leaves = isinstance(statement.body[-1], (ast.Return, ast.Break))
        inner = (
            (node for node in nodes(around[-1]) if isinstance(node, LOOPS) and node is not around[-1]) if around else ()
        )
        return leaves and any(isinstance(p, ast.Call) and last(p.func) == "backward" for n in inner for p in nodes(n))
    return False


def _leaves_step_out(test: ast.expr, name: str, function: Function) -> bool:
    """Whether a test leaves the backward of one batch out, after which the rank goes on with the next."""
    if not name.endswith("backward()") or "→" in name:
        return False
    for statement, _ in statements(function.node.body):
        if isinstance(statement, ast.If) and statement.test is test:
            called = {last(part.func) for part in nodes(statement) if isinstance(part, ast.Call)}
            asked = {last(part.func) for part in nodes(test) if isinstance(part, ast.Call)}
            broken = bool(asked & {"isnan", "isfinite", "isinf"})
            return broken or isinstance(statement.body[-1], ast.Continue) or "backward" in called
    return False


def _tests(site: Site) -> Iterator[tuple[ast.expr, bool]]:
    """Yield what decides whether and how often a call is made: branches, loops, and the ways out of loops before it."""
    for test in site.where.decided:
        yield test, False
    for loop in site.where.loops:
        over = head(loop)
        if over is not None and not (isinstance(loop, ast.While) and _is_brought_together(over, loop)):
            yield over, not isinstance(loop, ast.While)
        for arms in exits(loop):
            for arm in reversed(arms):
                if isinstance(arm.node, LOOPS):
                    break
                if isinstance(arm.node, ast.If):
                    yield arm.node.test, False


def _is_brought_together(test: ast.expr, loop: ast.While) -> bool:
    """Whether a collective in a loop gets what the next round hangs on."""
    asked = {dotted(part) for part in nodes(test)} - {"", "self"}
    calls = (part for statement in loop.body for part in nodes(statement) if isinstance(part, ast.Call))
    return any(last(c.func) in _AGREES and asked & {dotted(a) for a in c.args[:1]} for c in calls)


_AGREES = frozenset({"all_reduce", "broadcast"})


def _differs(test: ast.expr, function: Function, job: ScriptContext, *, is_length: bool) -> Reason | None:
    if is_length:
        # A list of files is the same for all ranks more often than not.
        own = {"part", "clock"}
        if _is_kept(test, function, job) or _is_by_value(test, function, job):
            own.add("batch")
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
        over = receiver(iterable) or positional(iterable, 0)
        if over is None:
            return False
        iterable = over
    name = dotted(iterable)
    scopes = function.owner.methods.values() if name.startswith("self.") and function.owner else (function,)
    return any(job.project.walk(scope).keys.get(name) for scope in scopes if name)


def _is_by_value(iterable: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether a loop goes once round for each value that occurs: `torch.unique(labels).tolist()`."""
    made = job.project.single(iterable, function) or iterable
    return any(isinstance(part, ast.Call) and last(part.func) in _VALUES for part in nodes(made))


def _stands_in(reason: Reason, test: ast.expr, function: Function, job: ScriptContext) -> bool:
    shown_as = [
        test,
        *filter(None, (job.project.single(n, function) for n in nodes(test) if isinstance(n, ast.expr))),
    ]
    return any(part is reason.node for value in shown_as for part in nodes(value))


RULES = (ScriptRule(ids=(*_IDS.values(), _SAVED, _EVALUATED, _CALLS), check=decided_alone),)
