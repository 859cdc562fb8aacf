"""Generators from which training draws for each sample of a batch, and which every rank seeds with one number."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import meanings
from distkb.evidence.readers.scripts.names import constant, dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes, targets_of

_SEED = "script.one-seed-for-all"
_SEEDED = frozenset({"manual_seed", "default_rng", "RandomState", "Random"})
_DRAWS = frozenset({"rand", "randn", "randint", "normal", "bernoulli", "multinomial", "random", "integers",
                    "standard_normal", "uniform", "choice"})  # fmt: skip
_IN_PLACE = frozenset({"normal_", "uniform_", "bernoulli_", "exponential_", "random_"})
_SIZES = frozenset({"shape", "size", "len"})
_RANKS = re.compile(r"(?i)rank|world|process|shard|worker|replica|device_specific")
_EVALUATES = re.compile(r"(?i)_?(?:run_)?(?:eval|valid|test|predict|infer|estimate)")
_ALIKE = ("parallelize_module", "PipelineStage", "initialize_model_parallel", "broadcast_object_list", "scatter",
          "init_device_mesh", "DeviceMesh", "new_group", "context_parallel", "distribute_tensor")  # fmt: skip
"""Names of what gives several ranks one batch, which then need the same numbers."""
_DEPTH = 4
_Path = tuple[ast.Call, ...]
_Draw = tuple[ast.Call, Function, _Path]
"""A call, the function in which it stands, and the calls by which the training came to that."""


def one_seed_for_noise(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield seeds, the same on every rank, of generators that training draws from for the samples of each batch."""
    if not job.is_parallel or job.mentions(*_ALIKE) or _is_set_by_rank(job):
        return
    told: set[int] = set()
    for call, function, path in _drawn(job):
        seeds = list(_seeds(_generator(call), function, job, path)) if _is_for_batch(call, function, job) else []
        if seeds and all(_is_alike(seed, scope, job) for _, seed, scope in seeds) and id(seeds[0][0]) not in told:
            told.add(id(seeds[0][0]))
            made, seed, scope = seeds[0]
            yield hit(_SEED, scope, made, call=shown(made), seed=shown(seed))


def _is_set_by_rank(job: ScriptContext) -> bool:
    """Whether something under the name of a seed is put together with the rank's number."""
    for node in (node for script in job.project.scripts for node in script.nodes):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
            targets = targets_of(node)
            if any("seed" in word.lower() for target in targets for word in words(target)) and _is_of_rank(node.value):
                return True
        elif isinstance(node, ast.Call) and last(node.func) in {"replace", "setattr", "update", "merge", "evolve"}:
            named = words(node) | {word.arg or "" for word in node.keywords}
            if any("seed" in word.lower() for word in named) and _is_of_rank(node):
                return True
    return False


def _is_of_rank(node: ast.AST) -> bool:
    return any(_RANKS.search(word) for word in words(node))


def _drawn(job: ScriptContext) -> Iterator[_Draw]:
    """Yield the calls that draw from a generator where the loop of a training comes to."""
    for function in job.project.functions:
        sites = [site for site in job.project.walk(function).sites if site.where.loops]
        below = {id(site): list(_below(site.node, function, job)) for site in sites}
        trained = {
            id(loop)
            for site in sites
            if any(last(one.func) == "backward" for one, _, _ in ((site.node, function, ()), *below[id(site)]))
            for loop in site.where.loops
        }
        for site in sites:
            if id(site.where.loops[-1]) in trained and not _is_now_and_then(site):
                for call, scope, path in ((site.node, function, ()), *below[id(site)]):
                    if _generator(call) is not None and not _knows_rank(scope, job):
                        yield call, scope, path


def _is_now_and_then(site: Site) -> bool:
    """Whether a call is made every so many steps, or where something is evaluated."""
    for part in (part for one in (*site.where.tests, *site.where.blocks) for part in nodes(one)):
        name = part.id if isinstance(part, ast.Name) else getattr(part, "attr", "")
        if isinstance(part, ast.Mod) or _EVALUATES.match(str(name)):
            return True
    return False


def _below(call: ast.Call, function: Function, job: ScriptContext, path: _Path = ()) -> Iterator[_Draw]:
    """Yield the calls of the project's functions that a call runs, the forward of a model too, but no evaluation's."""
    if len(path) >= _DEPTH:
        return
    target = job.project.target(call, function)
    if target is None:
        model = kinds.model_class(call.func, function, job.project)
        target = None if model is None else job.project.method(model, "forward")
    if target is None or target.name.endswith("__init__") or _EVALUATES.match(target.name.rpartition(".")[2]):
        return
    for site in job.project.walk(target).sites:
        if _is_now_and_then(site):
            continue
        yield site.node, target, (*path, call)
        yield from _below(site.node, target, job, (*path, call))


def _generator(call: ast.Call) -> ast.expr | None:
    """Return the generator from which a call draws: torch's as an argument, numpy's as the object of the method."""
    given, name = keyword(call, "generator"), last(call.func)
    if given is not None:
        return given if name in _DRAWS | _IN_PLACE else None
    owner = call.func.value if isinstance(call.func, ast.Attribute) and name in _DRAWS else None
    return owner if owner is not None and re.search(r"(?i)rng|rand|gen", last(owner)) else None


def _knows_rank(function: Function, job: ScriptContext) -> bool:
    owner = job.project.owner_of(function)
    is_draw_of_rank = any(_RANKS.search(name) for name in function.parameters) or _is_of_rank(function.node)
    return is_draw_of_rank or (owner is not None and "training_step" in owner.methods)


def _is_for_batch(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether as much is drawn as a batch has samples, or of what the batch itself gives."""
    if last(call.func) in _IN_PLACE and isinstance(call.func, ast.Attribute):
        return job.origins.depends([call.func.value], function, "batch")
    sized = [*call.args, *(word.value for word in call.keywords if word.arg in {"size", "shape"})]
    return any(_is_size(part, function, job) for one in sized for part in _leaves(one, function, job))


def _leaves(node: ast.expr, function: Function, job: ScriptContext) -> list[ast.AST]:
    """Return the parts of an expression, and of what its names were given in the function."""
    found = nodes(node)
    for name in [part for part in found if isinstance(part, ast.Name)]:
        for made in job.project.walk(function).assigned(name.id, before=node.lineno)[-1:]:
            found += nodes(made.value)
    return found


def _is_size(part: ast.AST, function: Function, job: ScriptContext) -> bool:
    """`x.shape`, `x.size(0)` or `len(x)` of a batch."""
    if isinstance(part, ast.Attribute) and part.attr in _SIZES:
        return job.origins.depends([part.value], function, "batch")
    is_len = isinstance(part, ast.Call) and dotted(part.func) == "len" and len(part.args) == 1
    return isinstance(part, ast.Call) and is_len and job.origins.depends(part.args, function, "batch")


_Seeding = tuple[ast.Call, ast.expr, Function]
"""The call that seeds a generator, the seed, and the function in which it stands."""


def _seeds(
    node: ast.expr | None, function: Function, job: ScriptContext, path: _Path = (), depth: int = 0
) -> Iterator[_Seeding]:
    """Yield how a generator is seeded, wherever it was made; an argument is what the calls of the path give."""
    if node is None or depth > _DEPTH:
        return
    if isinstance(node, ast.Call):
        if last(node.func) in _SEEDED:
            yield from ((node, seed, function) for seed in node.args[:1])
            return
        for value, scope in job.project.returned(node, function):
            yield from _seeds(value, scope, job, (*path, node), depth + 1)
        return
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return
    yield from _seeded_here(node, function, job)
    if path and isinstance(node, ast.Name) and _is_given(node, function, job):
        for value, scope in job.project.given(node.id, function, path[-1]):
            yield from _seeds(value, scope, job, path[:-1], depth + 1)
        return
    for value, scope in job.project.stands_for(node, function):
        yield from _seeds(value, scope, job, path if scope is function else (), depth + 1)


def _is_given(node: ast.Name, function: Function, job: ScriptContext) -> bool:
    return node.id in function.parameters and not job.project.walk(function).assigned(node.id, before=node.lineno)


def _seeded_here(node: ast.expr, function: Function, job: ScriptContext) -> Iterator[_Seeding]:
    """Yield the calls `gen.manual_seed(…)` of the function, or of the class that has the generator in an attribute."""
    scopes: Iterable[Function] = (function,)
    if isinstance(node, ast.Attribute):
        owner = job.project.holder(node, function)
        scopes = () if owner is None else owner.methods.values()
    name = dotted(node) if isinstance(node, ast.Name) else f"self.{last(node)}"
    for scope in scopes:
        for site in job.project.walk(scope).sites:
            if dotted(site.node.func) == f"{name}.manual_seed":
                yield from ((site.node, seed, scope) for seed in site.node.args[:1])


def _is_alike(seed: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether a seed is a number that is written out, or an option, and has nothing in it of the rank."""
    if job.origins.of(seed, function) or _is_of_rank(seed):
        return False
    found = [one for leaf in _names(seed) for one in meanings(leaf, function, job.project)]
    return bool(found) and all(_is_option(value, scope) for value, scope in found)


def _names(seed: ast.expr) -> list[ast.expr]:
    """Return the numbers and names of which a seed is put together."""
    if isinstance(seed, ast.BinOp):
        return [*_names(seed.left), *_names(seed.right)]
    return [seed]


def _is_option(value: ast.expr, function: Function) -> bool:
    if isinstance(value, ast.Constant):
        return isinstance(constant(value), int)
    free = isinstance(value, ast.Name) and value.id in function.parameters
    return isinstance(value, (ast.Attribute, ast.Subscript)) and not free and _names_seed(value)


def _names_seed(value: ast.expr) -> bool:
    named = words(value)
    return any("seed" in word.lower() for word in named) and not any(_RANKS.search(word) for word in named)


RULES = (ScriptRule(ids=(_SEED,), check=one_seed_for_noise),)
