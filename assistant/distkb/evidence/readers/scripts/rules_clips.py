"""Gradients under FSDP1 that are clipped by a norm of the rank's own shards: with torch's function, or by hand."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import arguments
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import Meaning
from distkb.evidence.readers.scripts.names import COMPREHENSIONS, canonical, dotted, last, shown, walk, words
from distkb.evidence.readers.scripts.nodes import nodes

_CLIPS = "script.clips-own-shards"
_LISTS = frozenset({"list", "tuple", "iter", "filter", "sorted", "reversed"})
_PARAMETERS = frozenset({"parameters", "named_parameters"})
_NORMS = frozenset(
    {"norm", "vector_norm", "_foreach_norm", "get_total_norm", "_get_total_norm", "square", "pow", "_foreach_pow"}
)
_SCALERS = frozenset(
    {"mul_", "div_", "_foreach_mul_", "_foreach_div_", "clip_grads_with_norm_", "_clip_grads_with_norm_"}
)
_ROUNDS, _DEPTH, _DEEPEST = 3, 2, 5


def _by_torch(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield torch's clipping by norm of a model under FSDP1: it takes the norm of the rank's own shards."""
    for function, call in job.calls():
        full = canonical(call.func, function.script)
        if not (full.startswith("torch.nn.") and full.endswith(".clip_grad_norm_") and call.args):
            continue
        owner = _sharded(call.args[0], function, job)
        if owner is not None:
            yield hit(_CLIPS, function, call, model=shown(owner))


def _by_hand(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield norms of a rank's own shards that the project computes itself, and scales the gradients by."""
    for function in job.project.functions if job.mentions("FullyShardedDataParallel") else ():
        norms = _norms(function, job)
        if norms is None or not _scales(function, norms, job):
            continue
        told: set[int] = set()
        for where, scope, sources in _places(norms, function, job):
            owners = [_sharded(source, scope, job) for source in sources]
            owner = owners[0] if owners else None
            if owner is not None and all(owners) and id(where) not in told:
                told.add(id(where))
                found = hit(_CLIPS, scope, where, model=shown(owner))
                yield msgspec.structs.replace(found, more=((function.script, norms.first.lineno),))


class _Norms(msgspec.Struct, frozen=True, eq=False):
    """What a function takes of gradients itself."""

    first: ast.expr
    """The expression that takes a norm."""
    names: frozenset[str]
    """Names that hold the norm, or what is made of it."""
    grads: frozenset[str]
    sources: tuple[ast.expr, ...]
    """The lists of parameters, or models, whose gradients they are."""


def _norms(function: Function, job: ScriptContext, depth: int = 0) -> _Norms | None:
    """Return the norm of gradients that a function takes, where no other rank has a part in it."""
    walked = job.project.walk(function)
    given = [(made.target, made.value) for made in walked.assignments]
    given += [(name, made.value) for name, changes in walked.changes.items() for made in changes]
    given += [(name, site.node.args[0]) for name, sites in walked.puts.items() for site in sites]
    grads: set[str] = set()
    norms: dict[str, ast.expr] = {}
    asked: list[ast.expr] = []
    for _ in range(_ROUNDS):
        for name, value in given:
            inner = _helper(value, function, job, depth) if name not in norms else None
            if inner is not None and isinstance(value, ast.Call):
                asked += value.args[:1]
            if words(value) & norms.keys() or inner is not None or (_of_gradients(value, grads) and _is_norm(value)):
                norms.setdefault(name, value)
            elif _of_gradients(value, grads):
                grads.add(name)
    returned = [v for v, _ in walked.returns if _of_gradients(v, grads) and _is_norm(v)]
    first = next(iter((*norms.values(), *returned)), None)
    if first is None or _is_exchanged(norms.keys(), function, job):
        return None
    return _Norms(first, frozenset(norms), frozenset(grads), (*_gone_through(function), *asked))


def _helper(value: ast.expr, function: Function, job: ScriptContext, depth: int) -> _Norms | None:
    """Return the norm that a call of the project's gives back, where it takes one of its own."""
    target = job.project.target(value, function) if isinstance(value, ast.Call) and depth < _DEPTH else None
    found = _norms(target, job, depth + 1) if target is not None and target is not function else None
    if found is None or target is None:
        return None
    given = [one for one, _ in job.project.walk(target).returns]
    return found if any(words(one) & found.names or _is_norm(one) for one in given) else None


def _of_gradients(node: ast.expr, grads: set[str] | frozenset[str]) -> bool:
    said = words(node)
    return "grad" in said or bool(said & grads)


def _is_norm(node: ast.expr) -> bool:
    """Whether an expression takes a norm, or squares."""
    return any(
        (isinstance(part, ast.Call) and last(part.func) in _NORMS)
        or (isinstance(part, ast.BinOp) and isinstance(part.op, ast.Pow))
        for part in nodes(node)
    )


def _is_exchanged(names: Iterable[str], function: Function, job: ScriptContext) -> bool:
    """Whether a norm, or what it is made of, goes through a call that exchanges it with the other ranks."""
    known = frozenset(names)
    walked = job.project.walk(function)
    returned = {id(part) for value, _ in walked.returns for part in nodes(value)}
    return any(
        "full_tensor" in words(site.node.func)
        or ((words(site.node) & known or id(site.node) in returned) and job.effects.of_call(site.node, function))
        for site in walked.sites
    )


def _gone_through(function: Function) -> Iterator[ast.expr]:
    """Yield what loops and comprehensions go through whose items are asked for their gradient."""
    for node in walk(function.node):
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(node, ast.For):
            pairs = [(node.target, node.iter)]
        elif isinstance(node, COMPREHENSIONS):
            pairs = [(one.target, one.iter) for one in node.generators]
        for target, over in pairs:
            taken = words(target)
            asked = (one for one in nodes(node) if isinstance(one, ast.Attribute) and one.attr == "grad")
            if any(last(one.value) in taken for one in asked):
                yield over


def _scales(function: Function, norms: _Norms, job: ScriptContext) -> bool:
    """Whether gradients are multiplied by what was made of their norm."""
    for node in walk(function.node):
        scaled, by = _multiplied(node)
        whole = isinstance(node, ast.Call) and "clip_grads" in last(node.func)
        of_gradients = whole or any(_of_gradients(one, norms.grads) for one in scaled)
        if of_gradients and any(words(one) & norms.names for one in by):
            return True
    return any(_scales_for(site.node, function, norms, job) for site in job.project.walk(function).sites)


def _multiplied(node: ast.AST) -> tuple[Sequence[ast.expr], Sequence[ast.expr]]:
    """Return what a statement or call scales, and what by."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Mult, ast.Div)):
        return [node.target], [node.value]
    if isinstance(node, ast.Assign):
        return [one for one in node.targets if last(one) == "grad"], [node.value]
    if isinstance(node, ast.Call) and last(node.func) in _SCALERS:
        return [node.func, *node.args], arguments(node)
    return [], []


def _scales_for(call: ast.Call, function: Function, norms: _Norms, job: ScriptContext) -> bool:
    """Whether a call hands a norm to a function of the project that multiplies gradients."""
    handed = any(words(one) & norms.names for one in arguments(call))
    below = job.project.below(call, function) if handed else ()
    return any(last(site.node.func) in _SCALERS and "grad" in words(target.node) for target, site in below)


def _places(
    norms: _Norms, function: Function, job: ScriptContext
) -> Iterator[tuple[ast.expr, Function, list[ast.expr]]]:
    """Yield where the parameters come from: the calls of a function that is given them, or the norm's own place."""
    own = function.parameters[1:] if function.is_method else function.parameters
    names = [name for name in own if any(name in words(one) for one in norms.sources)]
    if not names:
        yield norms.first, function, list(norms.sources)
        return
    for caller, site in job.project.callers(function):
        given = [value for name in names for value, _ in job.project.given(name, function, site.node)]
        yield site.node, caller, given


def _sharded(node: ast.expr, function: Function, job: ScriptContext) -> ast.expr | None:
    """Return the FSDP1 model that a value is, or whose parameters it lists; None where it may be anything else."""
    found = list(_owners(node, function, job))
    is_all = all(kinds.kind_of(one, scope, job.project, one.lineno) == kinds.FSDP1 for one, scope in found)
    return found[0][0] if found and is_all else None


def _owners(node: ast.expr, function: Function, job: ScriptContext, depth: int = 0) -> Iterator[Meaning]:
    """Yield the models of whose parameters something is a list, and whatever else it may be."""
    inner: list[Meaning] = []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PARAMETERS:
        yield node.func.value, function
        return
    if isinstance(node, ast.Call) and last(node.func) in _LISTS and node.args:
        inner = [(node.args[-1], function)]
    elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        inner = [(node.generators[0].iter, function)]
    elif isinstance(node, (ast.Name, ast.Attribute)) and dotted(node):
        is_model = kinds.kind_of(node, function, job.project, node.lineno) == kinds.FSDP1
        inner = [] if is_model else job.project.stands_for(node, function)
    if not inner or depth > _DEEPEST:
        yield node, function
    for value, scope in inner if depth <= _DEEPEST else ():
        yield from _owners(value, scope, job, depth + 1)


def clips_shards(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield the clippings of a model under FSDP1 that see only the rank's own shards of the gradient."""
    if not job.mentions("NO_SHARD", "with_grads"):
        yield from _by_torch(job)
        yield from _by_hand(job)


RULES = (ScriptRule(ids=(_CLIPS,), check=clips_shards),)
