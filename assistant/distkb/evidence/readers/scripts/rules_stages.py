"""Pipelines over several ranks that are called like an ordinary model, or whose batches cannot be cut alike."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import argument, keyword, positional, spreads_keywords
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import literals, made_by, makers, meanings, setting
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes

_CALLED, _TARGET, _OUTPUT = "script.pipeline-called", "script.pipeline-without-target", "script.pipeline-output-of-all"
_SHORT, _FEW, _UNEVEN = (
    "script.pipeline-short-batch",
    "script.pipeline-few-microbatches",
    "script.pipeline-uneven-batch",
)
_LIBRARY = "torch.distributed.pipelining"
_SCHEDULES = re.compile(r"Schedule(GPipe|1F1B|Interleaved\w+|LoopedBFS|ZBVZeroBubble|DualPipeV)$")
_AT_LEAST_STAGES = frozenset({"Schedule1F1B", "ScheduleDualPipeV"})
"""Schedules that refuse fewer microbatches than stages (torch 2.13, schedules.py)."""
_OF_STAGE = re.compile(r"(?i)stage|rank|first|last|pp_|pipe")
_OF_SIZE = re.compile(r"^(len|size|shape|numel|batch_size|drop_last)$")
_ENGINE_ONLY = frozenset({"forward", "backward", "step"})
"""Methods that the engine of a pipeline refuses (DeepSpeed, pipe/engine.py)."""
_THROUGH = frozenset({"enumerate", "tqdm", "iter", "islice"})


def _schedule(node: ast.expr, function: Function, job: ScriptContext) -> tuple[ast.Call, Function] | None:
    """Return the call that makes a schedule of torch's pipelines, where the expression holds one."""
    for full, call, scope in made_by(node, function, job.project):
        chosen = call.func
        if isinstance(chosen, ast.Name) and job.project.single(chosen, scope) is not None:
            chosen = job.project.single(chosen, scope) or chosen
        by_name = isinstance(chosen, ast.Call) and last(chosen.func) == "get_schedule_class"
        if by_name or (full.startswith(_LIBRARY) and _SCHEDULES.search(full)):
            return call, scope
    return None


def _steps(job: ScriptContext) -> Iterator[tuple[Function, Site, ast.Call, Function]]:
    """Yield the calls of `step` and `eval` of a schedule, with the call that made it and where that stands."""
    for function, site in job.sites() if job.mentions(_LIBRARY.rpartition(".")[2]) else ():
        func = site.node.func
        if isinstance(func, ast.Attribute) and func.attr in {"step", "eval"}:
            made = _schedule(func.value, function, job)
            if made is not None:
                yield function, site, *made


def called(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield calls of a stage, a schedule or DeepSpeed's pipeline engine itself, which take no such call."""
    pipelined = _all_engines_are_pipelines(job)
    for function, site in job.sites() if pipelined or job.mentions(_LIBRARY.rpartition(".")[2]) else ():
        func = site.node.func
        method = func.attr if isinstance(func, ast.Attribute) else ""
        engine = func.value if isinstance(func, ast.Attribute) and method in _ENGINE_ONLY else func
        if pipelined and dotted(engine) and _is_engine(engine, site, function, job):
            yield hit(_CALLED, function, site.node, call=shown(func), of="PipelineEngine", instead="train_batch(…)")
        elif isinstance(func, (ast.Name, ast.Attribute)) and job.project.target(site.node, function) is None:
            made = made_by(func, function, job.project)
            whole = bool(made) and all(
                full.startswith(_LIBRARY) and (full.endswith(".PipelineStage") or _SCHEDULES.search(full))
                for full, _, _ in made
            )
            if whole:
                yield hit(_CALLED, function, site.node, call=shown(func), of=made[0][0].rpartition(".")[2],
                          instead="schedule.step(…)")  # fmt: skip


def _is_engine(node: ast.expr, site: Site, function: Function, job: ScriptContext) -> bool:
    return kinds.kind_of(node, function, job.project, site.node.lineno) == kinds.ENGINE


def _all_engines_are_pipelines(job: ScriptContext) -> bool:
    """Whether every engine that the code makes is made of a `PipelineModule` or of a class that is one."""
    if not job.mentions("PipelineModule"):
        return False
    made = [(f, call) for f, call in job.calls() if canonical(call.func, f.script) == "deepspeed.initialize"]
    return bool(made) and all(_is_pipeline(call, function, job) for function, call in made)


def _is_pipeline(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    model = setting(call, "model", function, job.project) or positional(call, 1)
    for value, scope in meanings(model, function, job.project):
        named = value.func if isinstance(value, ast.Call) else value
        cls = job.project.class_named(named, scope.script)
        bases = [named] if cls is None else cls.node.bases
        if any(last(base) == "PipelineModule" for base in bases):
            return True
    return False


def alike(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield steps that every stage makes alike, without the target or with a use of the last stage's output."""
    for function, site, made, scope in _steps(job):
        if site.where.side != "both" or any(_is_of_stage(test) for test in site.where.decided):
            continue
        call = site.node
        learns = setting(made, "loss_fn", scope, job.project) or positional(made, 2)
        told = any(word.arg in {"target", None} for word in call.keywords) or any(
            isinstance(a, ast.Starred) for a in call.args
        )
        if learns is not None and not isinstance(learns, ast.Constant) and not told:
            yield hit(_TARGET, function, call, call=shown(call.func), made_line=str(made.lineno))
            continue
        use = _use(call, site, function, job)
        if use is not None:
            yield hit(_OUTPUT, function, use, call=shown(call.func), use=shown(use), step_line=str(call.lineno))


def _is_of_stage(test: ast.expr) -> bool:
    """Whether a test may tell the stages apart, by what its words say."""
    return any(_OF_STAGE.search(word) for word in words(test))


def _use(call: ast.Call, site: Site, function: Function, job: ScriptContext) -> ast.expr | None:
    """Return where what a step gives back is computed with on every rank."""
    for part in nodes(site.statement):
        if isinstance(part, (ast.Attribute, ast.Subscript)) and part.value is call:
            return part
    names = [dotted(t) for t in site.statement.targets] if isinstance(site.statement, ast.Assign) else []
    name = names[0] if names and site.statement.value is call else ""  # type: ignore[attr-defined]
    for later in job.project.walk(function).sites if name else ():
        if later.node.lineno <= call.lineno or later.where.side != "both":
            continue
        tests = later.where.decided
        if any(_is_of_stage(test) or name in {dotted(part) for part in nodes(test)} for test in tests):
            continue
        func = later.node.func
        computes = canonical(func, function.script).startswith(("torch.", "F."))
        if isinstance(func, ast.Attribute) and dotted(func.value) == name:
            return later.node
        if computes and any(dotted(one) == name for one in later.node.args):
            return later.node
    return None


def short(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield loops that give a pipeline each batch of a loader, the last and shorter one of an epoch too."""
    told: set[int] = set()
    for function, site, _, _ in _steps(job):
        loop = next((one for one in reversed(site.where.loops) if isinstance(one, ast.For)), None)
        if loop is None or any(_OF_SIZE.match(word) for test in site.where.decided for word in words(test)):
            continue
        for made in makers(_peeled(loop.iter), function, job.project, loop.lineno):
            call = made.call
            if last(call.func) != "DataLoader" or id(call) in told or spreads_keywords(call):
                continue
            drops = keyword(call, "drop_last")
            if keyword(call, "batch_sampler") is None and (drops is None or constant(drops) is False):
                told.add(id(call))
                yield hit(_SHORT, made.function, call, loader=shown(call.func), step_line=str(site.node.lineno),
                          step=shown(site.node.func))  # fmt: skip


def _peeled(node: ast.expr) -> ast.expr:
    """Return the loader inside of `enumerate(loader)` and the like."""
    while isinstance(node, ast.Call) and last(node.func) in _THROUGH and node.args:
        node = node.args[0]
    return node


def counts(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield schedules with fewer microbatches than stages, and batches that they cannot cut into equal ones."""
    for function, call in job.calls() if job.mentions(_LIBRARY.rpartition(".")[2]) else ():
        full = canonical(call.func, function.script)
        if not full.startswith(_LIBRARY) or not _SCHEDULES.search(full):
            continue
        given = argument(call, "n_microbatches", 1)
        number = _one(given, function, job)
        stages = _number_of_stages(call, function, job)
        if number is None or given is None or number < 1:
            continue
        if full.rpartition(".")[2] in _AT_LEAST_STAGES and stages is not None and number < stages:
            yield hit(_FEW, function, call, schedule=full.rpartition(".")[2], number=str(number), stages=str(stages))
    for function, site, made, scope in _steps(job):
        number = _one(argument(made, "n_microbatches", 1), scope, job)
        loop = next((one for one in reversed(site.where.loops) if isinstance(one, ast.For)), None)
        for loader in makers(_peeled(loop.iter), function, job.project, loop.lineno) if loop and number else ():
            size = _one(keyword(loader.call, "batch_size"), loader.function, job)
            if last(loader.call.func) == "DataLoader" and size and number and size % number:
                yield hit(_UNEVEN, loader.function, loader.call, size=str(size), number=str(number),
                          made_line=str(made.lineno))  # fmt: skip
                return


def _number_of_stages(call: ast.Call, function: Function, job: ScriptContext) -> int | None:
    """Return into how many stages the model is cut that a schedule is made for, at least."""
    stage = argument(call, "stage", 0)
    for full, made, scope in made_by(stage, function, job.project) if stage is not None else ():
        if full.startswith(_LIBRARY) and full.endswith(".PipelineStage"):
            told = argument(made, "num_stages", 2)
            return _one(told, scope, job) or (2 if told is not None and words(told) else None)
    return None


def _one(node: ast.expr | None, function: Function, job: ScriptContext) -> int | None:
    """Return the number that an expression is where it is written out."""
    found = set(literals(node, function, job.project)) if node is not None else set()
    only = next(iter(found)) if len(found) == 1 else None
    return only if isinstance(only, int) and not isinstance(only, bool) else None


RULES = (
    ScriptRule(ids=(_CALLED,), check=called),
    ScriptRule(ids=(_TARGET, _OUTPUT), check=alike),
    ScriptRule(ids=(_SHORT,), check=short),
    ScriptRule(ids=(_FEW, _UNEVEN), check=counts),
)
