"""Threads of a rank's own: queues whose items are never all done, and waiting for a thread that needs one's lock."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple, cast

from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, walk
from distkb.evidence.readers.scripts.nodes import nodes

_ENDLESS, _TWICE = "script.queue-never-ended", "script.lock-taken-twice"
_CROSSED = "script.locks-in-other-order"
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


def never_ended(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield loops over a queue that end with a mark which nothing in the project puts there."""
    if not job.mentions("Thread", "ThreadPoolExecutor"):
        return
    put = {ast.dump(given) for _, call in job.calls() if last(call.func) in _PUTS for given in call.args[:1]}
    for function in job.project.functions:
        for loop in (node for node in walk(function.node) if isinstance(node, ast.While)):
            taken = {dotted(p.targets[0]): p for p in walk(loop) if isinstance(p, ast.Assign) and _waits(p.value)}
            mark = next((m for p in loop.body for m in _marks(p, set(taken) - {""})), None)
            if (
                mark is not None
                and constant(loop.test) is True
                and ast.dump(mark) not in put
                and not _is_handed(mark, job)
            ):
                waits = next(iter(taken.values()))
                yield hit(_ENDLESS, function, waits, mark=shown(mark), call=shown(waits.value))


_PUTS = frozenset({"put", "put_nowait"})


def _waits(value: ast.expr) -> bool:
    """Whether a value is taken from a queue, for as long as that takes."""
    return isinstance(value, ast.Call) and last(value.func) == "get" and not value.args and not value.keywords


def _marks(statement: ast.stmt, names: set[str]) -> Iterator[ast.expr]:
    """Yield what a test compares an item with that leaves the loop."""
    if not isinstance(statement, ast.If) or not isinstance(statement.body[-1], (ast.Return, ast.Break)):
        return
    test = statement.test
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Is, ast.Eq)) and dotted(test.left) in names:
        yield test.comparators[0]


def _is_handed(mark: ast.expr, job: ScriptContext) -> bool:
    """Whether the mark is a name that some `put` may be given in another way."""
    return not isinstance(mark, ast.Constant) and any(
        last(mark) in {last(part) for given in call.args for part in nodes(given)}
        for _, call in job.calls()
        if last(call.func) in _PUTS
    )


def taken_twice(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield calls below a plain lock of a method that takes the same lock: the thread waits for itself."""
    for function in job.project.functions:
        owner = function.owner
        for site in job.project.walk(function).sites if owner is not None else ():
            target = job.project.target(site.node, function)
            if (
                owner is None
                or target is None
                or target.owner is not owner
                or not dotted(site.node.func).startswith("self.")
            ):
                continue
            held = {dotted(block) for block in site.where.blocks} - {""}
            lock = next(
                (name for name in _locked(target) if name in held and _is_plain(name, owner, function, job)), ""
            )
            if lock:
                yield hit(_TWICE, function, site.node, call=shown(site.node.func), lock=lock)


def _locked(function: Function) -> Iterator[str]:
    for node in walk(function.node):
        if isinstance(node, ast.With):
            yield from (dotted(item.context_expr) for item in node.items)


def _is_plain(name: str, owner: Class, function: Function, job: ScriptContext) -> bool:
    values = job.project.attribute_values(owner).get(name.removeprefix("self."), [])
    return any(isinstance(v, ast.Call) and canonical(v.func, function.script) == "threading.Lock" for v in values)


class _Taken(NamedTuple):
    """A lock that is taken while another one is held, with the place."""

    function: Function
    node: ast.AST
    first: str
    second: str


def other_order(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield locks of which one function takes one below the other, and a second function the other below the one."""
    if not job.mentions("Thread", "ThreadPoolExecutor", "Timer"):
        return
    pairs: dict[tuple[str, str], _Taken] = {}
    for function in job.project.functions:
        for site in job.project.walk(function).sites:
            for block in site.where.blocks:
                first = _identity(block, function, job)
                for second in _taken_by(site.node, function, job, 0) if first else ():
                    pairs.setdefault((first, second), _Taken(function, site.node, first, second))
        for outer in (node for node in walk(function.node) if isinstance(node, ast.With)):
            held = [item.context_expr for item in outer.items]
            inside = [n for s in outer.body for n in walk(s) if isinstance(n, ast.With)]
            later = [(item.context_expr, node) for node in inside for item in node.items]
            nested = [(one, other, node) for one in held for other, node in later]
            nested += [(one, other, outer) for at, one in enumerate(held) for other in held[at + 1 :]]
            for one, other, node in nested:
                first, second = _identity(one, function, job), _identity(other, function, job)
                if first and second:
                    pairs.setdefault((first, second), _Taken(function, node, first, second))
    for (first, second), here in pairs.items():
        there = pairs.get((second, first))
        if there is not None and there.function is not here.function and first < second:
            line = str(getattr(there.node, "lineno", 0))
            values = {"first": first, "second": second, "other": there.function.name, "other_line": line}
            yield hit(_CROSSED, here.function, cast("ast.expr", here.node), **values)


def _identity(node: ast.expr, function: Function, job: ScriptContext) -> str:
    """Return a name for a lock that is the same wherever it is taken: of its class, or of its file."""
    name = dotted(node)
    if isinstance(node, ast.Name):
        value = job.project.single(node, function)
        is_lock = isinstance(value, ast.Call) and canonical(value.func, function.script) in _LOCKS
        return name if is_lock else ""
    owner = job.project.owner_of(function)
    if isinstance(node, ast.Attribute) and name.count(".") == 1 and name.startswith("self.") and owner is not None:
        return f"{owner.name}.{node.attr}" if _is_lock(name, owner, function, job) else ""
    return ""


def _taken_by(call: ast.Call, function: Function, job: ScriptContext, depth: int) -> Iterator[str]:
    """Yield the locks that a call takes, in the method that it runs, by its object's class or by a name of its own."""
    target = job.project.target(call, function) or _only_method(call, job)
    if target is None or depth > 2 or target is function:
        return
    for node in walk(target.node):
        if isinstance(node, ast.With):
            yield from filter(None, (_identity(item.context_expr, target, job) for item in node.items))
    for site in job.project.walk(target).sites:
        yield from _taken_by(site.node, target, job, depth + 1)


def _only_method(call: ast.Call, job: ScriptContext) -> Function | None:
    """Return the one method of the project that has the name of a call on an object that is not known."""
    if not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, ast.Attribute):
        return None
    ends = f".{call.func.attr}"
    found = [one for one in job.project.functions if one.owner is not None and one.name.endswith(ends)]
    return found[0] if len(found) == 1 and call.func.attr not in _COMMON else None


_COMMON = frozenset({"append", "get", "put", "join", "start", "close", "write", "flush", "update", "pop", "add", "run"})


RULES = (
    ScriptRule(ids=(_ENDLESS,), check=never_ended),
    ScriptRule(ids=(_TWICE,), check=taken_twice),
    ScriptRule(ids=(_CROSSED,), check=other_order),
    ScriptRule(ids=(_SKIPPED,), check=never_done),
    ScriptRule(ids=(_LOCKED,), check=under_lock),
)
