"""Losses and outputs that are kept together with the graphs that made them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import keyword, receiver
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Assignment, Site
from distkb.evidence.readers.scripts.graphs import ENDS_GRAPH, Graphs, is_model
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import dotted, last, shown, walk, words
from distkb.evidence.readers.scripts.nodes import children

_KEPT = "script.graph-kept"
_STEPS = {"training_step": "Module", "compute_loss": "Trainer"}
"""What a trainer calls for each batch, and how the names of the classes end that have it."""
_OTHER_PHASE = re.compile(r"(?i)val|test|eval|stage|phase|split|mode|train|prefix|valid")
_EMPTIES = frozenset({"clear", "pop", "popleft"})
_ONCE = re.compile(r"epoch|__init__|fit|_train_(?:start|end)$")
"""Methods that do not come once for each batch."""
_PUTS = frozenset({"append", "extend"})
_DEPTH = 4


def graph_kept(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield losses that are added up, or put on a list, together with the graph that made them."""
    graphs = Graphs(job.project)
    for function in job.project.functions:
        yield from _in_loops(function, job, graphs)
    yield from _in_steps(job, graphs)
    yield from _in_meters(job, graphs)


def _in_loops(function: Function, job: ScriptContext, graphs: Graphs) -> Iterator[ScriptFinding]:
    """Yield the first thing that the loops of a training keep."""
    walk = job.project.walk(function)
    sites = [site for site in walk.sites if last(site.node.func) == "backward" and site.where.loops]
    if not sites:
        return
    backward = {dotted(named) for site in sites for named in _begins_at(site.node)}
    ended = {a.target for a in walk.assignments if _ends_graph(a.value)}
    losses = backward - ended - {""}
    around, begun = _begun_in_loops(function)
    for kept, node, value in _kept(function):
        name = dotted(kept)
        if dotted(value) not in losses and (dotted(value) in ended or not graphs.carries(value, function)):
            continue
        loop = around.get(id(node), ())[-1:]
        trained = any(loop[0] in around.get(id(site.node), ()) for site in sites) if loop else False
        grows = trained and name and name not in begun.get(loop[0], ()) and name not in backward
        if grows and not _is_bounded(kept, function, job):
            yield hit(_KEPT, function, node, name=name, loss=shown(value))
            return


def _in_meters(job: ScriptContext, graphs: Graphs) -> Iterator[ScriptFinding]:
    """Yield what a method, called once for each batch of a training loop, adds to an attribute of its object."""
    for function in job.project.functions:
        if not function.is_method or function.owner is None or is_model(function.owner) or _is_step(function):
            continue
        callers = [one for one in job.project.callers(function) if _is_in_training(*one, job)]
        for kept, node, value in _kept(function) if callers else ():
            name = dotted(kept)
            own = name.startswith("self.") and words(value) & set(function.parameters[1:])
            if own and graphs.carries(value, function) and not _is_bounded(kept, function, job):
                yield hit(_KEPT, function, node, name=name, loss=shown(value))
                break


def _is_in_training(function: Function, site: Site, job: ScriptContext) -> bool:
    """Whether a call is made in a loop that makes a backward."""
    loop = site.where.loops[-1] if site.where.loops else None
    sites = job.project.walk(function).sites
    return any(last(one.node.func) == "backward" and loop in one.where.loops for one in sites) if loop else False


def _begins_at(call: ast.Call) -> Iterator[ast.expr]:
    """Yield the loss, as in `loss.backward()`, `scaler.scale(loss).backward()` and `accelerator.backward(loss)`."""
    owner = receiver(call) or call.func
    yield owner
    yield from owner.args[:1] if isinstance(owner, ast.Call) and last(owner.func) == "scale" else call.args[:1]


def _kept(function: Function) -> Iterator[tuple[ast.expr, ast.stmt | ast.expr, ast.expr]]:
    """Yield what a function adds to a sum or puts on a list: the sum or list, the place, and what it is."""
    for node in walk(function.node):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            yield _container(node.target), node, node.value
        elif isinstance(node, ast.Call) and last(node.func) in _PUTS and isinstance(node.func, ast.Attribute):
            yield from ((_container(node.func.value), node, given) for given in node.args[:1])


def _container(node: ast.expr) -> ast.expr:
    """Return a sum or a list, or the dictionary that holds it: `history` of `history["loss"]`."""
    return node.value if isinstance(node, ast.Subscript) else node


def _ends_graph(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and last(value.func) in ENDS_GRAPH


def _is_bounded(kept: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether a list is emptied in the function, or holds no more than so many."""
    made = job.project.single(kept, function)
    ring = made if isinstance(made, ast.Call) and last(made.func) == "deque" else None
    bounded = ring is not None and (keyword(ring, "maxlen") is not None or len(ring.args) > 1)
    return bounded or _is_emptied(dotted(kept), function)


def _is_emptied(name: str, function: Function) -> bool:
    for node in walk(function.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _EMPTIES:
            if dotted(node.func.value) == name:
                return True
        elif isinstance(node, ast.Delete) and any(dotted(_container(one)) == name for one in node.targets):
            return True
    return False


def _in_steps(job: ScriptContext, graphs: Graphs) -> Iterator[ScriptFinding]:
    """Yield what a step that a trainer calls, or a method that it calls, puts into an attribute that outlives it."""
    for function, is_step in _steps(job):
        told: set[str] = set()
        for kept, node, value in _kept(function):
            name = dotted(kept)
            if not name.startswith("self.") or name in told or not graphs.carries(value, function):
                continue
            tests = {word for test in _tests_around(node, function, job) for word in words(test)}
            other = not is_step and any(_OTHER_PHASE.search(word) for word in tests)
            if other or re.search(r"(?i)val|test|eval", name) or _is_begun_anew(name, function, job):
                continue
            if not _is_bounded(kept, function, job):
                told.add(name)
                yield hit(_KEPT, function, node, name=name, loss=shown(value))


def _steps(job: ScriptContext) -> Iterator[tuple[Function, bool]]:
    """Yield the steps of training that a trainer calls, and the project's methods that they call."""
    seen: set[int] = set()
    first = [one for one in job.project.functions if _is_step(one)]
    left = [(one, 0) for one in first]
    for function, depth in left:
        if id(function) in seen:
            continue
        seen.add(id(function))
        yield function, depth == 0
        for site in job.project.walk(function).sites if depth < _DEPTH else ():
            target = job.project.target(site.node, function)
            if target is not None and not target.name.endswith((".forward", ".__init__")):
                left.append((target, depth + 1))


def _is_step(function: Function) -> bool:
    ends = _STEPS.get(function.name.rpartition(".")[2])
    return ends is not None and any(last(base).endswith(ends) for base in function.bases)


def _tests_around(node: ast.AST, function: Function, job: ScriptContext) -> tuple[ast.expr, ...]:
    walk = job.project.walk(function)
    kept: list[Site | Assignment] = [site for site in walk.sites if site.node is node]
    kept += [one for changes in walk.changes.values() for one in changes if one.line == getattr(node, "lineno", 0)]
    return kept[0].where.tests if kept else ()


def _is_begun_anew(name: str, function: Function, job: ScriptContext) -> bool:
    """Whether a method that comes for each batch makes the attribute anew or empties it."""
    methods = function.owner.methods.values() if function.owner is not None else ()
    often = [one for one in methods if not _ONCE.search(one.name.rpartition(".")[2])]
    return any(
        _is_emptied(name, one) or any(made.target == name for made in job.project.walk(one).assignments)
        for one in often
    )


def _begun_in_loops(function: Function) -> tuple[dict[int, tuple[int, ...]], dict[int, set[str]]]:
    """Return the loops around each node, the innermost last, and what is assigned anew in each, by identity."""
    around: dict[int, tuple[int, ...]] = {}
    begun: dict[int, set[str]] = {}
    left: list[tuple[ast.AST, tuple[int, ...]]] = [(function.node, ())]
    while left:
        node, loops = left.pop()
        if loops:
            around[id(node)] = loops
        if isinstance(node, (ast.For, ast.While)):
            loops = (*loops, id(node))
        for target in node.targets if isinstance(node, ast.Assign) else ():
            for loop in loops:
                begun.setdefault(loop, set()).add(dotted(target))
        left += [(child, loops) for child in children(node)]
    return around, begun


RULES = (ScriptRule(ids=(_KEPT,), check=graph_kept),)
