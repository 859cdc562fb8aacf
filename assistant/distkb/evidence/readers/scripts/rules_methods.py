"""What a process does once: it sets the start method, and begins Accelerate, not before a notebook launches ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import argument, keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.rules_workers import tried
from distkb.evidence.readers.scripts.source import Script

_TWICE, _BEGUN = "script.start-method-twice", "script.begun-before-notebook"
_SETS = frozenset({"multiprocessing.set_start_method", "torch.multiprocessing.set_start_method"})
Run = tuple[Function, Site]
"""A call, and the function in which it stands."""
Way = tuple[Run, ...]
"""Calls of which each runs the function in which the next one stands."""
_IMPORTS, _DEEPEST, _TWO = 3, 4, 2
"""Imports in one another, and calls in one another, that are followed; rounds that make a loop."""
_ONCE = frozenset({"cache", "lru_cache", "cached_property"})
_TESTED = frozenset({"get_start_method", "start_method", "platform", "system", "os.name"})
_ASKS = frozenset({"is_available", "device_count", "is_bf16_supported", "manual_seed", "manual_seed_all"})
"""Functions of torch.cuda that do not begin CUDA, or that others call before a fork without harm."""


def set_twice(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield a second `set_start_method` of one process: of another place, or the first that is run once more."""
    for script in job.project.scripts if job.mentions("set_start_method") else ():
        made = list({id(way[-1][1].node): way for way in _of_start(script, job, 0)}.values())
        found = (made[-1], made[0][-1]) if len(made) > 1 else None
        for way in made if found is None else ():
            before = _run_again(way, job)
            found = found or (None if before is None else (way, before))
        if found is not None:
            (function, second), (earlier, first) = found[0][-1], found[1]
            place = f"{earlier.script.path.name}:{first.node.lineno}"
            yield hit(_TWICE, function, second.node, call=shown(second.node), first=place)
            return


def _of_start(script: Script, job: ScriptContext, depth: int) -> Iterator[Way]:
    """Yield the ways to what a script sets when it starts: in the files that it imports, then in its own."""
    for name in script.imports.values() if depth < _IMPORTS else ():
        other = job.project.module_named(name, script) or job.project.module_named(name.rpartition(".")[0], script)
        if other is not None and other is not script:
            ways = _of_start(other, job, depth + 1)
            yield from (way for way in ways if all(one.where.tests == () for _, one in way))
    top = job.project.modules[id(script)]
    for way in _ways_from(top, (), job):
        _, one = way[-1]
        force = argument(one.node, "force", 1)
        if constant(force) is not True and not any(id(site.node) in tried(scope) for scope, site in way):
            yield way


def _ways_from(function: Function, before: Way, job: ScriptContext) -> Iterator[Way]:
    """Yield the calls, from the outermost on, by which a function surely comes to set the start method."""
    for site in job.project.walk(function).sites if len(before) <= _DEEPEST else ():
        if not site.where.certain or (site.where.loops and not _repeats(site)):
            continue
        way = (*before, (function, site))
        target = job.project.target(site.node, function)
        if canonical(site.node.func, function.script) in _SETS:
            yield way
        elif target is not None and all(target is not scope for scope, _ in way):
            yield from _ways_from(target, way, job)


def _repeats(site: Site) -> bool:
    """Whether a call stands in a loop over several things that nothing leaves early."""
    loop = site.where.loops[-1] if site.where.loops else None
    if not isinstance(loop, ast.For) or len(getattr(loop.iter, "elts", (1, 2))) < _TWO:
        return False
    return not any(isinstance(node, (ast.Break, ast.Return, ast.Try)) for node in nodes(loop))


def _run_again(way: Way, job: ScriptContext) -> Run | None:
    """Return the first call by which a way enters a function, or a loop's body, that the process enters again."""
    reached = _reached(way[0][0], job)
    for at, (function, site) in enumerate(way):
        entered = way[at + 1][0] if at + 1 < len(way) else None
        if entered is not None and _runs_once(entered):
            return None
        calls = job.project.callers(entered) if entered is not None else []
        again = (one for one in calls if one[1].node is not site.node and one[0] is not entered)
        if _repeats(site) or any(id(caller) in reached and not _asks_first(one) for caller, one in again):
            return function, site
    return None


def _reached(top: Function, job: ScriptContext) -> set[int]:
    """Return the functions that the top level of a file may come to, by identity."""
    found, open_ends = {id(top)}, [top]
    while open_ends:
        here = open_ends.pop()
        targets = (job.project.target(site.node, here) for site in job.project.walk(here).sites)
        new = {id(one): one for one in targets if one is not None and id(one) not in found}
        found |= new.keys()
        open_ends += new.values()
    return found


def _runs_once(function: Function) -> bool:
    """Whether a decorator keeps what a function gave the first time."""
    made = getattr(function.node, "decorator_list", [])
    return any(last(getattr(one, "func", one)) in _ONCE for one in made)


def _asks_first(site: Site) -> bool:
    """Whether a call is made by a test of the start method, or where the system is another."""
    return any(_TESTED & words(test) for test in site.where.decided)


def before_notebook(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield what begins Accelerate or CUDA in the process that then forks the ranks with `notebook_launcher`."""
    for function, call in job.calls() if job.mentions("notebook_launcher") else ():
        number = argument(call, "num_processes", 2)
        if last(call.func) != "notebook_launcher" or number is None or constant(number) == 1:
            continue
        top = job.project.modules[id(function.script)]
        scopes = [function] if function is top else [top, function]
        for scope in scopes:
            early = (one for one in job.project.walk(scope).sites if scope is not function or one.node is not call)
            for one in early:
                above = scope is not function or one.node.lineno < call.lineno
                if above and one.where.certain and _begins(one.node, scope, job):
                    yield hit(_BEGUN, scope, one.node, call=shown(one.node), launch=str(call.lineno))
                    return


def _begins(call: ast.Call, function: Function, job: ScriptContext, depth: int = 0) -> bool:
    full = canonical(call.func, function.script)
    if full.startswith("accelerate.") and last(call.func) == "Accelerator":
        return True
    if full.startswith("torch.cuda."):
        return last(call.func) not in _ASKS
    if isinstance(call.func, ast.Attribute) and call.func.attr == "cuda" and not call.args:
        return True
    device = keyword(call, "device") or (call.args[0] if last(call.func) == "to" and call.args else None)
    if str(constant(device)).startswith("cuda"):
        return True
    below = job.project.below(call, function) if depth < _IMPORTS else ()
    return any(one.where.certain and _begins(one.node, target, job, depth + 1) for target, one in below)


RULES = (
    ScriptRule(ids=(_TWICE,), check=set_twice),
    ScriptRule(ids=(_BEGUN,), check=before_notebook),
)
