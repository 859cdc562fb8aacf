"""Threads of a rank's own: queues whose items are never all done, and waiting for a thread that needs one's lock."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, dotted, last, walk
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.project import Class, Function

_SKIPPED, _LOCKED = "script.item-never-done", "script.waits-under-lock"
_LOCKS = frozenset({"threading.Lock", "threading.RLock", "threading.Condition"})


def never_done(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield loops over a queue that skip an item without counting it as done, where somebody waits for all of them."""
    if not job.mentions("task_done") or not job.mentions("join"):
        return
    for function in job.project.functions:
        for loop in walk(function.node):
            if isinstance(loop, (ast.While, ast.For)):
                for skip in _skips(loop.body):
                    yield hit(_SKIPPED, function, skip)


def _skips(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the tests with a `continue` that stand between a queue's `get` and its `task_done`."""
    taken = False
    for at, statement in enumerate(body):
        if isinstance(statement, ast.If) and taken and _calls(body[at + 1 :], "task_done"):
            leaves = any(isinstance(part, ast.Continue) for part in walk(statement))
            if leaves and not _calls([statement], "task_done"):
                yield statement
        taken = taken or _calls([statement], "get")


def _calls(body: list[ast.stmt], name: str) -> bool:
    return any(isinstance(p, ast.Call) and last(p.func) == name for part in body for p in walk(part))


def under_lock(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield `put` on a queue with a limit below a lock that who empties the queue takes as well."""
    for function in job.project.functions:
        owner = function.owner
        for site in job.project.walk(function).sites if owner is not None else ():
            named = site.node.func
            if owner is None or not isinstance(named, ast.Attribute) or named.attr != "put":
                continue
            lock = next((dotted(b) for b in site.where.blocks if _is_lock(dotted(b), owner, function, job)), "")
            if (
                lock
                and _has_limit(named.value, function, job)
                and _emptied_under(lock, dotted(named.value), owner, job)
            ):
                yield hit(_LOCKED, function, site.node, queue=dotted(named.value), lock=lock)


def _is_lock(name: str, owner: Class, function: Function, job: ScriptContext) -> bool:
    values = job.project.attribute_values(owner).get(name.removeprefix("self."), [])
    return any(isinstance(value, ast.Call) and canonical(value.func, function.script) in _LOCKS for value in values)


def _has_limit(queue: ast.expr, function: Function, job: ScriptContext) -> bool:
    made = job.project.single(queue, function)
    return isinstance(made, ast.Call) and last(made.func) == "Queue" and bool(made.args or made.keywords)


def _emptied_under(lock: str, queue: str, owner: Class, job: ScriptContext) -> bool:
    """Whether a method takes things out of the queue in a loop and the lock as well."""
    for method in owner.methods.values():
        takes = any(dotted(site.node.func) == f"{queue}.get" for site in job.project.walk(method).sites)
        locks = any(
            dotted(item.context_expr) == lock
            for part in nodes(method.node)
            if isinstance(part, ast.With)
            for item in part.items
        )
        if takes and locks:
            return True
    return False


RULES = (
    ScriptRule(ids=(_SKIPPED,), check=never_done),
    ScriptRule(ids=(_LOCKED,), check=under_lock),
)
