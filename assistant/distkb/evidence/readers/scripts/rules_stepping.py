"""Steps that count twice or past their engine: accumulation by hand, the bare model, sums."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import argument, keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import Meaning, made_by, meanings
from distkb.evidence.readers.scripts.names import WITHOUT_GRADIENTS, canonical, constant, dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes

_BARE, _COUNTED = "script.forward-past-engine", "script.accumulation-by-hand"
_CLIPPED, _SUM = "script.gradients-beside-engine", "script.loss-summed"
_ACCUMULATES = re.compile(r"(?i)accum|grad_acc")
_BATCH = re.compile(r"(?i)(^|_)(bs|bsz|batch|batch_size|batchsize|micro_batch_size|per_device_train_batch_size)$")
_RANKS = re.compile(r"(?i)world|rank|num_processes|nproc|n_?gpus?$|num_gpus|num_devices|devices|replica|nodes|dp_size"
                    r"|data_parallel|global_batch|total_batch|effective")  # fmt: skip
"""Names that show that a computation counts the processes."""
_LOADERS = re.compile(r"(?i)loader|batches|steps|\bdl\b|_dl$|dataloader")
_EVALUATES = re.compile(r"(?i)eval|valid|test|infer|generate|sample|predict")


def _engine_models(job: ScriptContext) -> Iterator[tuple[Function, ast.Call, str]]:
    """Yield the calls of deepspeed.initialize with the name of the model that they are given."""
    for function, call in job.calls_of("deepspeed.initialize"):
        given = argument(call, "model", 1)
        yield function, call, dotted(given) if given is not None else ""


def past_engine(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield forwards, in training, of the model itself and not of the engine that was made of it."""
    made = [one for one in _engine_models(job) if one[2]]
    sources = {id(value) for where, call, _ in made for value, _ in _model_of(where, call, job)}
    if not made:
        return
    for function in job.project.functions:
        if _EVALUATES.search(function.name) or not _trains(function, job):
            continue
        for site in job.project.walk(function).sites:
            call = site.node
            if site.where.entered & WITHOUT_GRADIENTS:
                continue
            engine = (
                _bare(call, function, made, job) or _inner(call, function, job) or _same(call, function, sources, job)
            )
            if engine and _EVALUATES.search(" ".join(words(call.func))) is None:
                yield hit(_BARE, function, call, call=shown(call.func), engine=engine)
                break


def _model_of(function: Function, call: ast.Call, job: ScriptContext) -> Iterator[Meaning]:
    """Yield the calls that made the model which an engine is made of."""
    given = argument(call, "model", 1)
    yield from (one for one in meanings(given, function, job.project) if isinstance(one[0], ast.Call))


def _same(call: ast.Call, function: Function, sources: set[int], job: ScriptContext) -> str:
    """Return the name of an engine where a call runs, under an argument's name, the model that it was made of."""
    name = dotted(call.func)
    if name not in function.parameters or kinds.kind_of(call.func, function, job.project, call.lineno):
        return ""
    engines = (s.node.func.value for s in job.project.walk(function).sites
               if isinstance(s.node.func, ast.Attribute) and s.node.func.attr in {"backward", "step"})  # fmt: skip
    known = [e for e in engines if kinds.kind_of(e, function, job.project, call.lineno) == kinds.ENGINE]
    same = any(id(value) in sources for value, _ in meanings(call.func, function, job.project))
    return shown(known[0]) if known and same else ""


def _trains(function: Function, job: ScriptContext, depth: int = 0) -> bool:
    """Whether a function makes gradients, or gives what it computes to one that does."""
    if job.project.walk(function).calls("backward"):
        return True
    callers = job.project.callers(function) if depth < 2 and job.project.walk(function).returns else []
    return any(_trains(caller, job, depth + 1) for caller, _ in callers)


def _bare(call: ast.Call, function: Function, made: list[tuple[Function, ast.Call, str]], job: ScriptContext) -> str:
    """Return the engine's name where a call runs the model that it was made of, under its own name."""
    name = dotted(call.func)
    for where, initialize, model in made:
        same_scope = where is function or (model.startswith("self.") and where.owner is function.owner is not None)
        top = where.name == "<module>" and where.script is function.script and model not in function.parameters
        if name != model or not (same_scope or top):
            continue
        if where is function and call.lineno < initialize.lineno:
            continue
        walk = job.project.walk(where)
        names = [a.target for a in walk.assignments if a.value is initialize and a.index in (0, None)]
        if names and model not in names and not _again(model, initialize, where, job):
            return names[0]
    return ""


def _again(model: str, initialize: ast.Call, where: Function, job: ScriptContext) -> bool:
    """Whether the model's name is given something else behind the engine."""
    return any(a.target == model and a.line > initialize.lineno for a in job.project.walk(where).assignments)


def _inner(call: ast.Call, function: Function, job: ScriptContext) -> str:
    """Return the engine in `engine.module(x)`."""
    named = call.func
    if not isinstance(named, ast.Attribute) or named.attr != "module":
        return ""
    kind = kinds.kind_of(named.value, function, job.project, call.lineno)
    return shown(named.value) if kind == kinds.ENGINE else ""


def by_hand(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield counting of micro batches, and division by their number, where the engine or Accelerate does both."""
    if not job.mentions("deepspeed", "accumulate"):
        return
    for function in job.project.functions:
        for site in job.project.walk(function).sites:
            what = _counts(site, function, job)
            if what is not None:
                yield hit(_COUNTED, function, site.node, call=shown(site.node), what=shown(what))
                break


def _counts(site: Site, function: Function, job: ScriptContext) -> ast.expr | None:
    """Return the test on a remainder, or the division, that does again what happens inside of a call."""
    named = site.node.func
    if not isinstance(named, ast.Attribute) or named.attr not in {"step", "backward"}:
        return None
    kind = kinds.kind_of(named.value, function, job.project, site.node.lineno)
    inside = "accumulate" in site.where.entered
    if named.attr == "step" and (kind == kinds.ENGINE or (inside and kind in {kinds.OPTIMIZER, kinds.PREPARED})):
        return next((test for test in site.where.tests if _is_remainder(test, job)), None)
    if named.attr == "backward" and (kind == kinds.ENGINE or (inside and kind == kinds.ACCELERATOR)) and site.node.args:
        given = site.node.args[0]
        values = [given, *(a.value for a in job.project.walk(function).assigned(dotted(given), site.node.lineno))]
        return next((value for value in values if _is_divided(value, inside=inside)), None)
    return None


def _is_remainder(test: ast.expr, job: ScriptContext) -> bool:
    """Whether a test counts to the number of micro batches."""
    for part in nodes(test):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod):
            number = constant(part.right)
            if _ACCUMULATES.search(" ".join(words(part.right))) or (isinstance(number, int) and number in _told(job)):
                return True
    return False


def _told(job: ScriptContext) -> set[object]:
    """Return the numbers of micro batches that are written out as a setting."""
    told = (node for script in job.project.scripts for node in script.nodes if isinstance(node, ast.keyword))
    return {constant(word.value) for word in told if word.arg == "gradient_accumulation_steps"}


def _is_divided(value: ast.expr, *, inside: bool) -> bool:
    """Whether a value is a loss divided by the number of micro batches."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Div):
        return False
    by_number = isinstance(constant(value.right), int) and constant(value.right) != 1
    return bool(_ACCUMULATES.search(" ".join(words(value.right)))) or (inside and by_number)


def beside_engine(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield clipping of the parameters of a DeepSpeed engine, which keeps and clips gradients itself."""
    made = list(_engine_models(job))
    models = {(id(where), model) for where, _, model in made if model}
    for function, call in job.calls() if made else ():
        full = canonical(call.func, function.script)
        if not (full.startswith("torch.nn.utils.") and "clip_grad" in full):
            continue
        for part in nodes(call.args[0]) if call.args else ():
            owner = part.value if isinstance(part, ast.Attribute) and part.attr == "parameters" else None
            while isinstance(owner, ast.Attribute) and owner.attr == "module":
                owner = owner.value
            kind = kinds.kind_of(owner, function, job.project, call.lineno) if owner is not None else ""
            if owner is not None and (kind == kinds.ENGINE or (id(function), dotted(owner)) in models):
                yield hit(_CLIPPED, function, call, call=shown(call.func))
                break


def _quotient(node: ast.expr, function: Function, job: ScriptContext, depth: int = 0) -> ast.expr | None:
    """Return the division of a number of samples by a size of batches of which a length is made."""
    if depth > 5:
        return None
    if any(_RANKS.search(word) for word in words(node)):
        return None
    for part in nodes(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, (ast.Div, ast.FloorDiv)):
            by_batch = isinstance(part.right, (ast.Name, ast.Attribute)) and _BATCH.search(last(part.right))
            counted = words(part.left)
            if by_batch and not any(_LOADERS.search(word) or _BATCH.search(word) for word in counted):
                return part
    divisions = [
        n for n in nodes(node) if isinstance(n, ast.BinOp) and isinstance(n.op, (ast.Div, ast.FloorDiv, ast.Mod))
    ]
    divisors = {id(part) for one in divisions for part in nodes(one.right)}
    for part in nodes(node):
        if isinstance(part, ast.Name) and id(part) not in divisors and not _ACCUMULATES.search(part.id):
            assigned = job.project.walk(function).last_value(part.id, before=part.lineno)
            value = assigned or job.project.single(part, function)
            found = None if value is None else _quotient(value, function, job, depth + 1)
            if found is not None:
                return found
    return None


def summed(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield losses under DDP that are sums over the batch, on which backward is called as they are."""
    if not job.mentions("DistributedDataParallel"):
        return
    for function in job.project.functions:
        walk = job.project.walk(function)
        for site in walk.sites:
            named = site.node.func
            if not isinstance(named, ast.Attribute) or named.attr != "backward" or not dotted(named.value):
                continue
            value = walk.last_value(dotted(named.value), before=site.node.lineno)
            changed = walk.changes.get(dotted(named.value))
            if isinstance(value, ast.Call) and not changed and _is_sum(value, function, job):
                yield hit(_SUM, function, value, loss=dotted(named.value), call=shown(value))
                break


def _is_sum(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether a call is a loss with `reduction="sum"`, be it an object that was made so."""
    if constant(keyword(call, "reduction")) == "sum":
        return canonical(call.func, function.script).startswith("torch.nn.")
    found = made_by(call.func, function, job.project)
    return bool(found) and all(
        full.startswith("torch.nn.") and constant(keyword(one, "reduction")) == "sum" for full, one, _ in found
    )


RULES = (
    ScriptRule(ids=(_BARE,), check=past_engine),
    ScriptRule(ids=(_COUNTED,), check=by_hand),
    ScriptRule(ids=(_CLIPPED,), check=beside_engine),
    ScriptRule(ids=(_SUM,), check=summed),
)
