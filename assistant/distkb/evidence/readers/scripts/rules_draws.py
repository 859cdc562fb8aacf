"""Batches that every rank picks with the global random numbers, which one seed makes the same on all of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import arguments, keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import meanings
from distkb.evidence.readers.scripts.names import (
    WITHOUT_GRADIENTS,
    canonical,
    constant,
    dotted,
    last,
    names_in,
    shown,
    words,
)
from distkb.evidence.readers.scripts.nodes import nodes, targets_of

_DRAWN = "script.one-seed-draws-batches"
_DRAWS = frozenset(
    {
        "torch.randint", "torch.randperm", "torch.multinomial", "random.sample", "random.choices", "random.randint",
        "random.randrange", "numpy.random.randint", "numpy.random.choice", "numpy.random.permutation",
    }
)  # fmt: skip
_SEEDS = {
    "torch": frozenset({"torch.manual_seed", "torch.random.manual_seed"}),
    "random": frozenset({"random.seed"}),
    "numpy": frozenset({"numpy.random.seed"}),
}
_OF_LIBRARIES = frozenset({"set_seed", "seed_everything", "enable_full_determinism"})
"""Functions of trainers' libraries that seed all three."""
_ORDERS = frozenset({"torch.randperm", "numpy.random.permutation"})
"""Orders of everything, of which a part has to be cut out before they pick anything."""
_PICKS = frozenset({"index_select", "take", "select"})
_COUNTS = frozenset({"range", "trange", "count"})
_RANKS = re.compile(r"(?i)rank|world|process(?:_index|es)|(?<!fully_)shard(?!ed)|replica|device_specific")
_EVALUATES = re.compile(r"(?i)eval|valid|test|estimate|sample|generat|predict|infer|init")
_TOGETHER = ("parallelize_module", "PipelineStage", "initialize_model_parallel", "broadcast", "broadcast_object_list",
             "scatter", "scatter_object_list", "broadcast_tensors", "distribute_tensor")  # fmt: skip
"""Names of what brings one batch to all ranks, or needs it on all of them."""
_DEPTH = 3
_ROUNDS = 3


def draws_batches(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield seeds that are the same on every rank where a loop of training picks its batches with what they seed."""
    if not job.is_parallel or job.mentions(*_TOGETHER) or _tells_apart(job):
        return
    seeds = list(_seeds(job))
    told: set[int] = set()
    for function in job.project.functions if seeds else ():
        for call, scope in _drawn_in_training(function, job):
            kind = canonical(call.func, scope.script).partition(".")[0]
            seed = next(((one, where) for one, where, kinds in seeds if kind in kinds), None)
            if seed is not None and id(seed[0]) not in told and _picks_data(call, scope, job):
                told.add(id(seed[0]))
                named = {"draw": shown(call), "where": scope.name, "draw_line": str(call.lineno)}
                yield hit(_DRAWN, seed[1], seed[0], call=shown(seed[0]), **named)


def _seeds(job: ScriptContext) -> Iterator[tuple[ast.Call, Function, set[str]]]:
    """Yield the calls that seed global random numbers on every rank, and of which libraries."""
    for function, site in job.sites():
        call, full = site.node, canonical(site.node.func, function.script)
        if site.where.side != "both" or not (call.args or call.keywords):
            continue
        of = {kind for kind, names in _SEEDS.items() if full in names}
        if full.rpartition(".")[2] in _OF_LIBRARIES and job.project.target(call, function) is None:
            of = set(_SEEDS)
        given = arguments(call) if of else []
        differs = any(job.origins.of(node, function) for node in given)
        if not differs and not all(constant(node) is None for node in given):
            yield call, function, of


def _tells_apart(job: ScriptContext) -> bool:
    """Whether anything seeds by rank, or a name of a seed is given something of the rank."""
    for script in job.project.scripts:
        for node in script.nodes:
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
                targets = targets_of(node)
                if any("seed" in last(target).lower() for target in targets) and _is_of_rank(node.value):
                    return True
    for function, call in job.calls():
        if "seed" in last(call.func).lower():
            given = arguments(call)
            if _is_of_rank(call) or job.origins.depends(given, function, "rank"):
                return True
    return False


def _is_of_rank(node: ast.AST) -> bool:
    named = {part.arg or "" for part in nodes(node) if isinstance(part, ast.keyword)}
    return any(_RANKS.search(word) for word in words(node) | named)


def _drawn_in_training(function: Function, job: ScriptContext) -> Iterator[tuple[ast.Call, Function]]:
    """Yield the draws to which the loops of a function come that go backward and take nothing out of a loader."""
    sites = [site for site in job.project.walk(function).sites if site.where.loops]
    trains = {
        id(loop)
        for site in sites
        if last(site.node.func) == "backward"
        or any(last(one.func) == "backward" for one, _ in _below(site.node, function, job))
        for loop in site.where.loops
        if all(_is_counted(around, function, job) for around in site.where.loops)
    }
    if not trains or any(isinstance(part, ast.Subscript) and _is_of_rank(part.slice) for part in nodes(function.node)):
        return
    found = [
        site.node for site in sites if any(id(loop) in trains for loop in site.where.loops) and not _is_aside(site)
    ]
    loops = {id(loop): loop for site in sites for loop in site.where.loops if id(loop) in trains}
    over = (node for loop in loops.values() if isinstance(loop, ast.For) for node in nodes(loop.iter))
    found += [node for node in over if isinstance(node, ast.Call)]
    for call in found:
        if job.origins.depends(call.args, function, "rank"):
            continue
        for one, scope in ((call, function), *_below(call, function, job)):
            if canonical(one.func, scope.script) in _DRAWS and keyword(one, "generator") is None:
                yield one, scope


def _is_aside(site: Site) -> bool:
    """Whether a call stands where something is tried out and not trained."""
    around = {word for part in (*site.where.tests, *site.where.blocks) for word in words(part)}
    return any(_EVALUATES.search(word) for word in around)


def _is_counted(loop: ast.stmt, function: Function, job: ScriptContext) -> bool:
    """Whether a loop counts its rounds, or goes through what a function of the project makes, and through no loader."""
    if not isinstance(loop, ast.For):
        return True
    calls = [node for node in nodes(loop.iter) if isinstance(node, ast.Call)]
    calls += [value for value, _ in meanings(loop.iter, function, job.project) if isinstance(value, ast.Call)]
    return any(last(one.func) in _COUNTS or next(_targets(one, function, job), None) is not None for one in calls)


def _targets(call: ast.Call, function: Function, job: ScriptContext) -> Iterator[Function]:
    """Yield the functions of the project that a call runs, also as the `next` of a generator."""
    if last(call.func) == "next" and call.args:
        for value, scope in meanings(call.args[0], function, job.project):
            target = job.project.target(value, scope) if isinstance(value, ast.Call) else None
            if target is not None:
                yield target
    target = job.project.target(call, function)
    if target is not None and not target.name.endswith("__init__"):
        yield target


def _below(
    call: ast.Call, function: Function, job: ScriptContext, depth: int = 0
) -> Iterator[tuple[ast.Call, Function]]:
    """Yield the calls of the functions that a call runs, but of those that evaluate."""
    for target in _targets(call, function, job) if depth < _DEPTH else ():
        decorated = {word for one in getattr(target.node, "decorator_list", ()) for word in words(one)}
        if _EVALUATES.match(target.name.rpartition(".")[2]) or decorated & WITHOUT_GRADIENTS:
            continue
        for site in job.project.walk(target).sites:
            if not _is_aside(site):
                yield site.node, target
                yield from _below(site.node, target, job, depth + 1)


def _picks_data(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether what is drawn says which parts of something are taken that every rank has as a whole."""
    owner = job.project.owner_of(function)
    if _is_of_rank(owner.node) if owner is not None else _is_divided(call, function):
        return False
    taken = list(_taken(call, function))
    return bool(taken) and not any(
        job.origins.depends([one], function, "rank", "part") or _grows(one, job) for one in taken
    )


def _is_divided(call: ast.Call, function: Function) -> bool:
    """Whether a function brings what it draws together with the rank's number: `drawn[rank::world]`."""
    inside = nodes(function.node)
    held = _holders(call, inside)
    sums = (node for node in inside if isinstance(node, (ast.Subscript, ast.BinOp, ast.Compare)))
    given = any(_RANKS.search(name) for name in function.parameters)
    return given or any(_holds(node, call, held) and _is_of_rank(node) for node in sums)


def _taken(call: ast.Call, function: Function) -> Iterator[ast.expr]:
    """Yield that of which a draw picks parts: what it is drawn from, or what is asked under the numbers it gives."""
    if (
        canonical(call.func, function.script) in {"random.sample", "random.choices"}
        and call.args
        and dotted(call.args[0])
    ):
        yield call.args[0]
    inside = nodes(function.node)
    held = _holders(call, inside)
    cut = (node.value for node in inside if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice))
    if canonical(call.func, function.script) in _ORDERS and not any(_holds(node, call, held) for node in cut):
        return
    for node in inside:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _holds(node.slice, call, held):
            yield node.value
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _PICKS
            and any(_holds(given, call, held) for given in node.args)
        ):
            yield node.args[0] if dotted(node.func.value) == "torch" else node.func.value


def _holders(call: ast.Call, inside: list[ast.AST]) -> set[str]:
    """Return the names that hold what a call gives, or parts of it."""
    held: set[str] = set()
    for _ in range(_ROUNDS):
        for node in inside:
            if isinstance(node, ast.Assign) and _holds(node.value, call, held):
                held |= {dotted(part) for target in node.targets for part in nodes(target)} - {"", "self"}
            elif isinstance(node, (ast.For, ast.comprehension)) and _holds(node.iter, call, held):
                held |= names_in(node.target)
    return held


def _holds(node: ast.AST, call: ast.Call, held: set[str]) -> bool:
    return any(part is call or (dotted(part) in held and bool(dotted(part))) for part in nodes(node))


def _grows(node: ast.expr, job: ScriptContext) -> bool:
    """Whether something is put in by the program itself while it runs: a buffer of what each rank has seen."""
    name = last(node)
    for function in job.project.functions:
        if not function.name.endswith("__init__") and isinstance(function.node, ast.FunctionDef):
            walk = job.project.walk(function)
            put = any(last(key.container) == name and key.put for keys in walk.keys.values() for key in keys)
            if name and (put or any(made.rpartition(".")[2] == name for made in walk.puts)):
                return True
    return False


RULES = (ScriptRule(ids=(_DRAWN,), check=draws_batches),)
